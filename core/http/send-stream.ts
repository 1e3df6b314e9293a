import type { ServerResponse } from 'node:http';
import { cutSlowReader, type SlowReaderRule } from './slow-reader.js';

export interface StreamOptions {
  /** Silence after which a comment is sent, milliseconds; 0 = never. */
  readonly keepAliveMs: number;
  readonly slowReader: SlowReaderRule;
}

/**
 * Writes each chunk as it comes and waits for a slow reader. When the client leaves, the iterator is returned; this
 * resolves when the iterator has let go. What the iterator throws is thrown: the response is left unfinished then.
 */
export async function sendStream(
  response: ServerResponse,
  stream: AsyncIterable<string | Uint8Array>,
  { keepAliveMs, slowReader }: StreamOptions,
): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  let closing: Promise<void> | undefined;
  let keepAlive: NodeJS.Timeout | undefined;
  const leave = () => {
    // Not only at the end of the loop: an iterator that ignores its end would keep the timer for ever.
    clearInterval(keepAlive);
    closing ??= letGo(iterator);
  };
  response.once('close', leave);
  if (response.destroyed) leave();
  else response.flushHeaders();
  if (keepAliveMs > 0 && !closing) keepAlive = setInterval(() => sayAlive(response), keepAliveMs);
  try {
    while (!closing) {
      const step = await iterator.next();
      if (closing) break;
      if (step.done) {
        response.off('close', leave);
        response.end();
        return;
      }
      keepAlive?.refresh();
      if (!response.write(step.value)) await drained(response, slowReader);
    }
  } catch (error) {
    response.off('close', leave);
    if (!closing) throw error;
  } finally {
    clearInterval(keepAlive);
  }
  await closing;
}

/** Whatever an iterator does when it is left, nobody waits for its words any more. */
async function letGo(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The client that could have been told is gone.
  }
}

function sayAlive(response: ServerResponse): void {
  // Whoever does not take the events needs no comment.
  if (!response.writableNeedDrain && !response.destroyed) response.write(': keep-alive\n\n');
}

/** Resolves when the reader has caught up, or is gone. */
function drained(response: ServerResponse, slowReader: SlowReaderRule): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const stopWatching = cutSlowReader(response, slowReader);
    const proceed = () => {
      stopWatching();
      response.off('drain', proceed).off('close', proceed);
      resolve();
    };
    response.once('drain', proceed).once('close', proceed);
  });
}
