import type { ServerResponse } from 'node:http';
import { cutSlowReader } from './unread-body.js';

export interface StreamOptions {
  /** Silence after which a comment is sent, milliseconds; 0 = never. */
  readonly keepAliveMs: number;
  readonly onSlowReader: () => void;
}

/**
 * Writes each chunk as it comes and waits for a slow reader. When the client leaves, the iterator is returned; this
 * resolves when the iterator has let go. What the iterator throws is thrown: the response is left unfinished then.
 */
export async function sendStream(
  response: ServerResponse,
  stream: AsyncIterable<string | Uint8Array>,
  { keepAliveMs, onSlowReader }: StreamOptions,
): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  let closing: Promise<unknown> | undefined;
  const leave = () => {
    closing ??= Promise.resolve(iterator.return?.()).catch(() => undefined);
  };
  response.once('close', leave);
  if (response.destroyed) leave();
  else response.flushHeaders();
  const keepAlive = keepAliveMs > 0 ? setInterval(() => sayAlive(response), keepAliveMs) : undefined;
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
      if (!response.write(step.value)) await drained(response, onSlowReader);
    }
  } catch (error) {
    response.off('close', leave);
    if (!closing) throw error;
  } finally {
    clearInterval(keepAlive);
  }
  await closing;
}

function sayAlive(response: ServerResponse): void {
  // Whoever does not take the events needs no comment.
  if (!response.writableNeedDrain && !response.destroyed) response.write(': keep-alive\n\n');
}

/** Resolves when the reader has caught up, or is gone. */
function drained(response: ServerResponse, onSlowReader: () => void): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const stopWatching = cutSlowReader(response, onSlowReader);
    const proceed = () => {
      stopWatching();
      response.off('drain', proceed).off('close', proceed);
      resolve();
    };
    response.once('drain', proceed).once('close', proceed);
  });
}
