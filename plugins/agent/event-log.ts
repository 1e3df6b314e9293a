import type { TurnEvent } from 'mortise/contracts/agent';
import { cutText } from './text.js';

/** How many code points a delta has where the provider does not cut them. */
export const deltaSize = 12;

/** Events in their stored form: neighbouring deltas of one step are one. */
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

/** Events for a caller that gets them all at once: every text in deltas of twelve code points. */
export function cutDeltas(events: readonly TurnEvent[]): readonly TurnEvent[] {
  const log = new EventLog();
  for (const event of events) log.add(event);
  return log.events.flatMap<TurnEvent>((event) =>
    event.type === 'assistant_delta' ? cutText(event.delta, deltaSize).map((delta) => ({ ...event, delta })) : [event],
  );
}

/** Stored events with the deltas that were not kept made again from the reply. */
export function restoreDeltas(events: readonly TurnEvent[], reply: string): readonly TurnEvent[] {
  const end = events.findIndex(({ type }) => type === 'completed');
  const completed = events[end];
  if (!completed || reply === '' || events.some(({ type }) => type === 'assistant_delta')) return events;
  return events.toSpliced(end, 0, { type: 'assistant_delta', step: completed.step, delta: reply });
}
