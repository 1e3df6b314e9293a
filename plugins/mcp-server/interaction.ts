import type { ClientSide } from './client-side.js';
import { createInputRounds, InputRequired, type InputRounds } from './input-rounds.js';
import type { MethodCall, MethodResult } from './method.js';
import { isLogLevel } from './tools/tool-log.js';
import { RpcFailure } from './wire/failure.js';
import { isObject, type JsonObject, member, membersText } from './wire/json.js';
import { notificationText } from './wire/message.js';
import { metaNames } from './wire/names.js';
import { openRequestState, type RequestIdentity, sealRequestState } from './wire/request-state.js';

/**
 * Runs something that may ask the client while it runs. Between sessions the question travels on the open stream; in
 * the stateless era it ends the request, which the client repeats with the answer.
 */
export function interactive(
  call: MethodCall,
  salient: JsonObject,
  run: (client: ClientSide) => Promise<MethodResult>,
): Promise<MethodResult> {
  if (call.era === 'session') return run({ ...clientOf(call), ask: sessionAsk(call) });
  return runInRounds(call, salient, run);
}

async function runInRounds(
  call: MethodCall,
  salient: JsonObject,
  run: (client: ClientSide) => Promise<MethodResult>,
): Promise<MethodResult> {
  const identity: RequestIdentity = { principal: call.caller.principal.id, method: call.request.method, salient };
  const rounds = createInputRounds(await answersSoFar(call, identity), call.capabilities ?? {});
  try {
    return await run({ ...clientOf(call), ask: rounds.ask });
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    return inputRequired(call, identity, rounds);
  }
}

/** What the client is told while its request runs. */
export function clientOf(call: MethodCall): ClientSide {
  const { outbound, meta } = call;
  const token = member(meta, 'progressToken');
  const wantsProgress = outbound.open && (typeof token === 'string' || typeof token === 'number');
  const level = call.era === 'session' ? call.session?.logLevel : member(meta, metaNames.logLevel);
  return {
    capabilities: call.capabilities,
    progress: wantsProgress
      ? (progress, total, message) =>
          outbound.send(notificationText('notifications/progress', { progressToken: token, progress, total, message }))
      : undefined,
    log:
      outbound.open && isLogLevel(level)
        ? {
            threshold: level,
            sink: (at, data) =>
              outbound.send(notificationText('notifications/message', { level: at, logger: 'mortise', data })),
          }
        : undefined,
  };
}

function sessionAsk({ session, outbound, server, caller }: MethodCall): ClientSide['ask'] {
  if (!session || !outbound.open) return undefined;
  return (question) => server.clientRequests.ask(session, outbound.send, question, caller.signal);
}

async function answersSoFar({ server, params }: MethodCall, identity: RequestIdentity): Promise<JsonObject> {
  const responses = member(params, 'inputResponses');
  const state = member(params, 'requestState');
  if (responses !== undefined && !isObject(responses)) {
    throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "inputResponses" must be an object.', {
      details: { path: '/inputResponses', expected: 'object' },
    });
  }
  if (state === undefined) return responses ?? {};
  const earlier = openRequestState(await server.signingKey(), identity, state, server.host.use('schedule').now());
  return { ...earlier, ...responses };
}

async function inputRequired(
  { server }: MethodCall,
  identity: RequestIdentity,
  rounds: InputRounds,
): Promise<MethodResult> {
  const now = server.host.use('schedule').now();
  const requestState = sealRequestState(await server.signingKey(), identity, rounds.used, now);
  return {
    resultType: 'input_required',
    members: membersText({ inputRequests: rounds.open, requestState }),
  };
}
