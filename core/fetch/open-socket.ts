import type { LookupFunction } from 'node:net';
import { WebSocket } from 'ws';
import type { SocketExchange } from '../sdk/host/fetch.js';
import type { OutboundSocket } from '../sdk/index.js';

/** Connects to a checked address; `lookup` checks the addresses that its name resolves to. */
export async function openSocket(
  url: URL,
  { signal, openMs = 10_000, maxFrameBytes = 1_048_576, message, close }: SocketExchange,
  lookup: LookupFunction | undefined,
): Promise<OutboundSocket> {
  signal.throwIfAborted();
  const socket = new WebSocket(url, {
    handshakeTimeout: openMs,
    maxPayload: maxFrameBytes,
    perMessageDeflate: false,
    ...(lookup && { lookup }),
  });
  const opened: OutboundSocket = {
    send(frame) {
      if (socket.readyState === socket.OPEN) socket.send(frame);
    },
    close: (code) => socket.close(code),
    terminate: () => socket.terminate(),
  };
  signal.addEventListener('abort', opened.terminate, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', opened.terminate));
  socket.on('message', (data, isBinary) => {
    if (!isBinary) message(data.toString(), opened);
  });
  await new Promise<void>((resolve, reject) => {
    // An error of an open connection is followed by `close`.
    socket.on('error', (error) => reject(signal.aborted ? signal.reason : error));
    socket.once('open', () => {
      socket.once('close', (code) => close(code));
      resolve();
    });
  });
  return opened;
}
