import type { TurnEvent, TurnFailure } from './turn.js';
import type { TurnPipe } from './turn-pipe.js';
import type { TurnAnswer } from './turns.js';

/** The end of every stream. */
export const streamEnd = 'data: [DONE]\n\n';

export function eventFrame(event: TurnEvent): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export function errorFrame({ code, message, details, hint }: TurnFailure): string {
  const meta = { code, message, ...(details ? { details } : {}), ...(hint ? { hint } : {}) };
  return `data: ${JSON.stringify({ type: 'error', meta })}\n\n`;
}

/**
 * The events of a running turn as server-sent events; an error follows them when the turn or its channel failed.
 *
 * @param first the event that was already taken from the pipe
 * @param show changes an event before it is sent
 */
export async function* turnFrames(
  pipe: TurnPipe,
  first: TurnEvent | undefined,
  pending: Promise<TurnAnswer>,
  show: (event: TurnEvent) => TurnEvent | Promise<TurnEvent> = (event) => event,
): AsyncGenerator<string> {
  try {
    for (let event = first; event; event = await pipe.next()) yield eventFrame(await show(event));
    const answer = await pending;
    if (answer.kind === 'failed') yield errorFrame(answer.error);
    else if (answer.kind === 'turn' && answer.result.kind === 'failed') yield errorFrame(answer.result.error);
    else if (answer.kind === 'turn' && answer.result.kind === 'completed' && answer.result.dispatchError) {
      yield errorFrame(answer.result.dispatchError);
    }
    yield streamEnd;
  } finally {
    pipe.leave();
  }
}
