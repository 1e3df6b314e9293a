import type { Egress, EgressFacts } from 'mortise/contracts/conversation';
import type { Observation } from 'mortise/sdk';
import type { Announcements } from './announcements.js';
import type { Reply } from './pushes.js';

/** The way out to sockets that watch a session. */
export function socketEgress(facts: EgressFacts, announcements: Pick<Announcements, 'announce'>): Egress {
  return { ...facts, send: (observation) => announcements.announce(replyOf(observation)) };
}

function replyOf({ session_key, obs_id, trace_id, payload, metadata }: Observation): Reply {
  return {
    kind: 'message',
    sessionKey: session_key ?? '',
    ...(typeof metadata.turn_id === 'string' ? { turnId: metadata.turn_id } : {}),
    obsId: obs_id,
    traceId: trace_id,
    text: typeof payload.text === 'string' ? payload.text : '',
  };
}
