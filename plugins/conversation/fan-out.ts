import type { ObservationInput } from 'mortise/sdk';
import type { LiveSession } from './live-session.js';
import { fanOutSource, systemSession } from './route-observation.js';

/** Sessions that are served before others get a turn of the event loop. */
const batch = 500;

export interface FanOutPorts {
  readonly sessions: readonly LiveSession[];
  /** Nothing more is taken. */
  readonly shut: () => boolean;
  /** Puts it straight into the inbox of the session; false when it has no place there, or the session was forgotten. */
  readonly enter: (observation: ObservationInput, session: LiveSession) => boolean;
}

/** Says something to every session but that of the platform itself. @returns how many took it */
export async function fanOut(text: string, { sessions, shut, enter }: FanOutPorts): Promise<number> {
  let count = 0;
  for (const session of sessions) {
    if (session.key === systemSession || shut()) continue;
    const observation: ObservationInput = {
      obs_type: 'system',
      source_name: fanOutSource,
      source_kind: 'internal',
      session_key: session.key,
      payload: { text },
    };
    if (!enter(observation, session)) continue;
    count += 1;
    if (count % batch === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  return count;
}
