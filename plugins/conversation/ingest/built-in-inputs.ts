import type { ConversationService, PublishResult } from 'mortise/contracts/conversation';
import type { ObservationInput, Principal } from 'mortise/sdk';
import { cutText } from '../observation/payload.js';

/** The timer adapter: each call publishes the next tick, counted from 1. Late timers publish one tick, not several. */
export function timerAdapter(publish: (observation: ObservationInput) => void, now: () => number): () => void {
  let tick = 0;
  return () => {
    tick += 1;
    const ts_iso = new Date(now()).toISOString();
    publish({
      obs_type: 'schedule',
      source_name: 'timer:tick',
      source_kind: 'internal',
      ingress: 'timer',
      payload: { schedule_id: 'tick', data: { tick, ts_iso } },
      evidence: { raw_event_id: `tick:${tick}` },
    });
  };
}

/** The text adapter: publishes typed text as a numbered message. Returns null for blank text. */
export function textAdapter(
  publish: (observation: ObservationInput, principal: Principal) => PublishResult,
): ConversationService['ingestText'] {
  let count = 0;
  return (text, { principal, actor_id = 'user', session_key = 'dm:local' }) => {
    if (text.trim() === '') return null;
    count += 1;
    const observation = {
      source_name: 'text_input',
      ingress: 'adapter',
      session_key,
      actor: { actor_type: 'user', actor_id },
      ...cutText({ text, extra: { message_id: `text_input:${count}` } }),
    } as const;
    return publish(observation, principal);
  };
}
