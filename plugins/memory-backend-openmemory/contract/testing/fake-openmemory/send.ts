import type { ServerResponse } from 'node:http';
import { type AskedCall, answerCall } from './answers.js';
import type { FakeFault } from './faults.js';
import type { FakeMemories } from './memories.js';

/** Sends a JSON answer. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

/** Sends the beginning of an answer and cuts the connection. */
function sendHalf(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, Math.max(1, text.length >> 1)), () => response.socket?.destroy());
}

/** Answers a call as the fault wants it, or well when there is none. */
export async function sendUnder(
  fault: FakeFault | null,
  asked: AskedCall,
  memories: FakeMemories,
  response: ServerResponse,
): Promise<void> {
  const good = () => answerCall(asked, fault, memories);
  const applies = fault !== null && 'apply' in fault && fault.apply === true;
  if (applies && asked.call === 'add') good();
  switch (fault?.kind) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'status': {
      const { retryAfter, location } = fault;
      sendJson(response, fault.status, fault.body ?? { error: 'scripted' }, {
        ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
        ...(location === undefined ? {} : { location }),
      });
      return;
    }
    case 'truncate':
      sendHalf(response, good().body);
      return;
    case 'malformed':
      good();
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"id": "om-');
      return;
    case 'oversized':
      sendJson(response, 200, { ...good().body, padding: 'x'.repeat(fault.bytes) });
      return;
    case 'missing-id':
      good();
      sendJson(response, 200, { success: true, data: {} });
      return;
    case 'success-false':
      sendJson(response, 200, { success: false, id: 'om-none', data: { id: 'om-none' } });
      return;
    case 'slow':
      await new Promise((resolve) => setTimeout(resolve, fault.ms));
  }
  const { status, body } = good();
  sendJson(response, status, body);
}
