import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import { RpcFailure } from './wire/failure.js';
import { type JsonObject, member } from './wire/json.js';

/** A notification of the client. Unknown ones are accepted and change nothing. */
export async function acceptNotification(
  server: McpServer,
  session: Session | undefined,
  method: string,
  params: JsonObject,
): Promise<void> {
  if (method !== 'notifications/cancelled' || session === undefined) return;
  const request = JSON.stringify(member(params, 'requestId'));
  if (request === undefined || server.inFlight.cancel(session.id, request)) return;
  await server.replicas.tell({ kind: 'cancel', id: session.id, request });
}

/** A client's answer to a request of the server. @throws RpcFailure when it cannot be meant for this endpoint. */
export async function acceptResponse(
  server: McpServer,
  session: Session | undefined,
  id: unknown,
  body: JsonObject,
): Promise<void> {
  if (session === undefined) {
    throw new RpcFailure('INVALID_REQUEST', 'A response is only taken within a session.');
  }
  const request = String(id);
  if (!server.clientRequests.settle(session.id, request, body))
    await server.leftAnswers.leave(session.id, request, body);
}
