import type { PublishResult } from 'mortise/contracts/conversation';
import type { ObservationInput } from 'mortise/sdk';
import { cutText } from '../observation/payload.js';

/** Publishes an observation of the platform. */
type Publish = (observation: ObservationInput) => PublishResult;

/** The timer adapter: each call publishes the next tick, counted from 1. Late timers publish one tick, not several. */
export function timerAdapter(publish: Publish, now: () => number): () => void {
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
  publish: Publish,
): (text: string, options?: { readonly actor_id?: string; readonly session_key?: string }) => PublishResult | null {
  let count = 0;
  return (text, { actor_id = 'user', session_key = 'dm:local' } = {}) => {
    if (text.trim() === '') return null;
    count += 1;
    return publish({
      source_name: 'text_input',
      ingress: 'adapter',
      session_key,
      actor: { actor_type: 'user', actor_id },
      ...cutText({ text, extra: { message_id: `text_input:${count}` } }),
    });
  };
}
