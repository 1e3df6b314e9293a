import type { TurnEvent } from './turn.js';

/** Code points of a delta when the provider does not stream. */
const deltaSize = 12;

/** Events in their stored form: adjacent deltas of one step are merged. */
export class EventLog {
  readonly #events: TurnEvent[] = [];

  get events(): readonly TurnEvent[] {
    return this.#events;
  }

  add(event: TurnEvent): void {
    const last = this.#events.at(-1);
    if (event.type === 'assistant_delta' && last?.type === 'assistant_delta' && last.step === event.step) {
      this.#events[this.#events.length - 1] = { ...last, delta: last.delta + event.delta };
    } else this.#events.push(event);
  }
}

/** Events of a response that is not streamed: every text in deltas of twelve code points. */
export function cutDeltas(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const log = new EventLog();
  for (const event of events) log.add(event);
  return log.events.flatMap<TurnEvent>((event) =>
    event.type === 'assistant_delta' ? cutText(event.delta).map((delta) => ({ ...event, delta })) : [event],
  );
}

/** Restores the deltas of stored events from the reply, where they were too large to be stored. */
export function restoreDeltas(events: readonly TurnEvent[], reply: string): readonly TurnEvent[] {
  const end = events.findIndex(({ type }) => type === 'completed');
  const completed = events[end];
  if (!completed || reply === '' || events.some(({ type }) => type === 'assistant_delta')) return events;
  return events.toSpliced(end, 0, { type: 'assistant_delta', step: completed.step, delta: reply });
}

/** The events of the answer to a command, which is not a turn: one delta, streamed or not. */
export function commandEvents(reply: string): readonly TurnEvent[] {
  return [
    { type: 'step_started', step: 1 },
    { type: 'assistant_delta', step: 1, delta: reply },
    { type: 'completed', step: 1, reply, meta: {} },
  ];
}

/** The text in pieces of twelve code points. */
export function cutText(text: string): readonly string[] {
  const points = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < points.length; at += deltaSize) pieces.push(points.slice(at, at + deltaSize).join(''));
  return pieces;
}
