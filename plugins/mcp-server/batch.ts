import { isJsonObject, type RouteContext, type RouteRequest, type RouteResponse } from 'mortise/sdk';
import { acceptNotification, acceptResponse, invalidReply, messageMode, sessionOf } from './answer-message.js';
import { errorReply, type HttpReply, jsonReply } from './responses.js';
import { runRequest, versionOf } from './run-request.js';
import type { McpServer } from './server.js';
import type { Session } from './sessions/session.js';
import { RpcFailure } from './wire/failure.js';
import { readMessage } from './wire/message.js';
import { member } from './wire/params.js';

/** The only revision with batches. */
const batchVersion = '2025-03-26';
const maxMessages = 50;

/** Runs the messages of one body in sequence and answers them in the same order. */
export async function answerBatch(
  server: McpServer,
  messages: readonly unknown[],
  http: RouteRequest,
  ctx: RouteContext,
): Promise<RouteResponse> {
  try {
    const session = await sessionOf(server, http, ctx);
    if (versionOf('session', session, http) !== batchVersion) {
      throw new RpcFailure('INVALID_REQUEST', 'This protocol version does not accept several messages in one body.');
    }
    if (messages.length === 0 || messages.length > maxMessages) {
      throw new RpcFailure('INVALID_REQUEST', `A batch contains 1 to ${maxMessages} messages.`);
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
    return jsonReply(errorReply(error, { idText: undefined, mode: 'session', correlationId: ctx.correlationId }));
  }
}

async function answerOne(
  server: McpServer,
  value: unknown,
  session: Session | undefined,
  http: RouteRequest,
  ctx: RouteContext,
): Promise<HttpReply | undefined> {
  const { correlationId } = ctx;
  if (!isJsonObject(value) || member(value, 'jsonrpc') !== '2.0') {
    const failure = new RpcFailure('INVALID_REQUEST', 'A message must be an object with "jsonrpc":"2.0".');
    return errorReply(failure, { idText: undefined, mode: 'session', correlationId });
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
      if (message.method === 'initialize' || messageMode(message, http) === 'stateless') {
        const failure = new RpcFailure('INVALID_REQUEST', `Method "${message.method}" must not be in a batch.`);
        return errorReply(failure, { idText: message.idText, mode: 'session', correlationId });
      }
      const outbound = { open: false, send: () => {} };
      return runRequest({ server, request: message, mode: 'session', session, http, ctx }, outbound, ctx.signal);
    }
  }
}
