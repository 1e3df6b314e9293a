import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ResponseHeaders } from './response-body.js';

/** How much of a refused body is thrown away, and for how long, before the connection is cut. */
const lingerBytes = 8 * 1024 * 1024;
const lingerMs = 2_000;

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
