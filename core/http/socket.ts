import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type { CallContext, Logger, Socket, SocketHandler, UpgradeRoute } from '../sdk/index.js';
import { errorFacts } from './answer-error.js';

interface SocketFacts
  extends Pick<Socket, 'id' | 'remoteAddress' | 'headers' | 'authenticate' | 'unauthenticated' | 'admit'> {
  readonly log: Logger;
}

/** RFC 6455: the server met an unexpected condition. */
const internalError = 1011;

/** Connects an accepted WebSocket to the route that serves it. An error in a handler closes only its socket. */
export function attachSocket(
  webSocket: WebSocket,
  raw: Duplex,
  route: UpgradeRoute,
  call: CallContext,
  facts: SocketFacts,
): void {
  const { log, ...identity } = facts;
  const gather = gatherer(raw);
  const socket: Socket = {
    ...identity,
    get buffered() {
      return webSocket.bufferedAmount;
    },
    send: (frame) => {
      if (webSocket.readyState !== webSocket.OPEN) return;
      gather();
      webSocket.send(frame);
    },
    close: (code, reason) => webSocket.close(code, reason),
    terminate: () => webSocket.terminate(),
    ping: () => {
      if (webSocket.readyState === webSocket.OPEN) webSocket.ping();
    },
  };
  const guard = (run: () => void) => {
    try {
      run();
    } catch (error) {
      log.error({ correlation_id: facts.id, fault: errorFacts(error) }, 'a socket handler failed');
      webSocket.close(internalError, 'internal_error');
    }
  };
  // For a frame that breaks the protocol or the size limit ws closes the socket with the right code by itself.
  webSocket.on('error', () => undefined);
  let handler: SocketHandler | undefined;
  guard(() => {
    handler = route.open(socket, call);
  });
  webSocket.on('message', (data, binary) => guard(() => handler?.message(binary ? toBytes(data) : data.toString())));
  webSocket.on('pong', () => guard(() => handler?.pong?.()));
  webSocket.on('close', (code) => guard(() => handler?.close(code)));
}

/** Frames sent within one turn of the event loop are written together: many streams share a socket. */
function gatherer(raw: Duplex): () => void {
  let gathering = false;
  return () => {
    if (gathering) return;
    gathering = true;
    raw.cork();
    setImmediate(() => {
      gathering = false;
      raw.uncork();
    });
  };
}

function toBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
