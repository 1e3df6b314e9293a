import type { RouteContext, RouteRequest, RouteResponse } from 'mortise/sdk';
import { invalidReply, messageEra, sessionOf } from './answer-message.js';
import { errorReply } from './envelope.js';
import { acceptNotification, acceptResponse } from './incoming.js';
import { type Finished, jsonReply } from './reply.js';
import { runRequest, versionOf } from './run-request.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import { RpcFailure } from './wire/failure.js';
import { isObject, member } from './wire/json.js';
import { readMessage } from './wire/message.js';

/** The one revision that has batches, and how many messages one may hold. */
const batchVersion = '2025-03-26';
const mostMessages = 50;

/** Several messages in one body: run one after the other, answered in their order. */
export async function answerBatch(
  server: McpServer,
  messages: readonly unknown[],
  http: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  const envelope = { idText: undefined, era: 'session', correlationId: ctx.correlationId } as const;
  try {
    const session = await sessionOf(server, http, ctx);
    if (versionOf('session', session, http) !== batchVersion) {
      throw new RpcFailure('INVALID_REQUEST', 'This protocol version does not take several messages in one body.');
    }
    if (messages.length === 0 || messages.length > mostMessages) {
      throw new RpcFailure('INVALID_REQUEST', `A batch holds 1 to ${mostMessages} messages.`);
    }
    const answers: string[] = [];
    for (const message of messages) {
      const answer = await answerOne(server, message, session, http, ctx);
      if (answer?.text !== undefined) answers.push(answer.text);
    }
    if (answers.length === 0) return { status: 202 };
    return jsonReply({ status: 200, text: `[${answers.join(',')}]` });
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return jsonReply(errorReply(error, envelope));
  }
}

async function answerOne(
  server: McpServer,
  value: unknown,
  session: Session | undefined,
  http: RouteRequest,
  ctx: RouteContext,
): Promise<Finished | undefined> {
  const { correlationId } = ctx;
  if (!isObject(value) || member(value, 'jsonrpc') !== '2.0') {
    const failure = new RpcFailure('INVALID_REQUEST', 'A message must be an object with "jsonrpc":"2.0".');
    return errorReply(failure, { idText: undefined, era: 'session', correlationId });
  }
  const message = readMessage(value);
  switch (message.kind) {
    case 'invalid':
      return invalidReply(message, correlationId);
    case 'notification':
      await acceptNotification(server, session, message.method, message.params);
      return undefined;
    case 'response':
      await acceptResponse(server, session, message.id, message.body);
      return undefined;
    case 'request': {
      const refused = message.method === 'initialize' || messageEra(message, http) === 'stateless';
      if (refused) {
        const failure = new RpcFailure('INVALID_REQUEST', `Method "${message.method}" must not be in a batch.`);
        return errorReply(failure, { idText: message.idText, era: 'session', correlationId });
      }
      const outbound = { open: false, send: () => {} };
      return runRequest({ server, request: message, era: 'session', session, http, ctx }, outbound, ctx.signal);
    }
  }
}
