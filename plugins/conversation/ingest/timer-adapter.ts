import type { PublishResult } from 'mortise/contracts/conversation';
import type { ObservationInput } from 'mortise/sdk';

/** Ticks, counted from 1: what the platform does now and then hangs on them. A late timer makes one tick, not many. */
export function timerAdapter(
  publish: (observation: ObservationInput) => PublishResult,
  now: () => number,
): () => PublishResult {
  let tick = 0;
  return () => {
    tick += 1;
    const ts_iso = new Date(now()).toISOString();
    return publish({
      obs_type: 'schedule',
      source_name: 'timer:tick',
      source_kind: 'internal',
      ingress: 'timer',
      payload: { schedule_id: 'tick', data: { tick, ts_iso } },
      evidence: { raw_event_id: `tick:${tick}` },
    });
  };
}
