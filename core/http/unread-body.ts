import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-body.js';

/** How much of a refused body is thrown away, and for how long, before the connection is cut. */
const lingerBytes = 8 * 1024 * 1024;
const lingerMs = 2_000;

/** A reader that takes nothing for this long is cut off, milliseconds. */
export const slowReaderMs = 120_000;

/**
 * Answers a request whose body nobody wants, and then reads on for a moment: closing with unread bytes resets the
 * connection, and the client would lose the answer that it has not looked at while it was still sending.
 */
export function sendAndLinger(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: ResponseHeaders,
  body: string | Uint8Array | undefined,
): void {
  headers.Connection = 'close';
  response.writeHead(status, headers);
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  let left = lingerBytes;
  const finish = () => {
    clearTimeout(timer);
    request.off('data', discard).off('end', finish).off('close', finish);
    if (!response.writableEnded) response.end();
  };
  const discard = (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  };
  const timer = setTimeout(finish, lingerMs);
  request.on('data', discard).on('end', finish).on('close', finish);
  request.resume();
}

/**
 * Ends a connection whose client takes nothing of what was written, until the function it returns is called. The socket's
 * own time-out looks at the bytes that the system still holds, so slow progress counts as progress.
 */
export function cutSlowReader(response: ServerResponse, onCut: () => void): () => void {
  const { socket } = response;
  if (!socket || socket.writableLength === 0) return () => undefined;
  const cut = () => {
    onCut();
    response.destroy();
  };
  response.once('timeout', cut);
  socket.setTimeout(slowReaderMs);
  return () => {
    response.off('timeout', cut);
    if (!socket.destroyed) socket.setTimeout(0);
  };
}
