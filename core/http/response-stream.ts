import type { ServerResponse } from 'node:http';

interface StreamOptions {
  /** Sends the head before the first chunk, for a reader that acts on it. */
  readonly flushHead: boolean;
  /** Silence after which `keepAlive` is sent, milliseconds; 0 = never. */
  readonly keepAliveMs: number;
  /** The comment or event; an empty text sends nothing. */
  readonly keepAlive: string;
  readonly slowReader: SlowReaderRule;
}

/** When to disconnect a client that does not read its response. */
export interface SlowReaderRule {
  /** Milliseconds without any progress. */
  readonly afterMs: number;
  /** Called before the connection is closed. */
  readonly onCut: () => void;
}

/**
 * Writes each chunk as it comes and waits for a slow reader. When the client leaves, the iterator is returned, and the
 * promise resolves when that has finished. What the iterator throws is thrown, with the response left unfinished.
 */
export async function sendStream(
  response: ServerResponse,
  stream: AsyncIterable<string | Uint8Array>,
  { flushHead, keepAliveMs, keepAlive, slowReader }: StreamOptions,
): Promise<void> {
  const iterator = stream[Symbol.asyncIterator]();
  let closing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const leave = () => {
    // Not only at the end of the loop: an iterator that ignores its return would keep the timer running.
    clearInterval(timer);
    closing ??= returnIterator(iterator);
  };
  response.once('close', leave);
  if (response.destroyed) leave();
  else if (flushHead) response.flushHeaders();
  if (keepAliveMs > 0 && keepAlive !== '' && !closing) {
    timer = setInterval(() => sendWhileIdle(response, keepAlive), keepAliveMs);
  }
  try {
    while (!closing) {
      const step = await iterator.next();
      if (response.writableEnded) leave();
      if (closing) break;
      if (step.done) {
        response.off('close', leave);
        response.end();
        return;
      }
      timer?.refresh();
      if (!response.write(step.value)) await drained(response, slowReader);
    }
  } catch (error) {
    response.off('close', leave);
    if (!closing) throw error;
  } finally {
    clearInterval(timer);
  }
  await closing;
}

/**
 * Closes a connection whose client stops reading, until the returned function is called. The
 * time-out of the socket considers the bytes in the system's buffers, so slow progress counts as progress.
 */
export function cutSlowReader(response: ServerResponse, { afterMs, onCut }: SlowReaderRule): () => void {
  const { socket } = response;
  if (!socket || socket.writableLength === 0) return () => undefined;
  const cut = () => {
    onCut();
    response.destroy();
  };
  response.once('timeout', cut);
  socket.setTimeout(afterMs);
  return () => {
    response.off('timeout', cut);
    if (!socket.destroyed) socket.setTimeout(0);
  };
}

async function returnIterator(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The client has disconnected, so the error cannot be sent.
  }
}

function sendWhileIdle(response: ServerResponse, text: string): void {
  // A client that does not read needs no keep-alive.
  if (!response.writableNeedDrain && !response.writableEnded && !response.destroyed) response.write(text);
}

/** Resolves when the reader has caught up or has left. */
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
