import type { JsonObject } from 'mortise/sdk';
import { checkedAnswer, keyed } from './client-answers.js';
import type { ClientSide } from './client-side.js';
import type { MethodCall, MethodResult } from './method.js';
import { capabilityFor, requireCapability } from './wire/capabilities.js';
import { membersText, notificationText } from './wire/message.js';
import { inputResponses, member } from './wire/params.js';
import { isLogLevel, metaNames } from './wire/protocol.js';
import { openRequestState, type RequestIdentity, sealRequestState } from './wire/request-state.js';

/**
 * Runs something that may ask the client while it runs. In session mode the question is sent on the open stream; in
 * stateless mode it ends the request, and the client repeats the request with the answer.
 * @param boundParams the parameters that must be the same in every round.
 */
export function interactive(
  call: MethodCall,
  boundParams: JsonObject,
  run: (client: ClientSide) => Promise<MethodResult>,
): Promise<MethodResult> {
  if (call.mode === 'session') return run({ ...clientOf(call), ask: sessionAsk(call) });
  return runInRounds(call, boundParams, run);
}

function sessionAsk({ session, outbound, server, caller }: MethodCall): ClientSide['ask'] {
  if (!session || !outbound.open) return undefined;
  return (question) => server.clientRequests.ask(session, outbound.send, question, caller.signal);
}

async function runInRounds(
  call: MethodCall,
  boundParams: JsonObject,
  run: (client: ClientSide) => Promise<MethodResult>,
): Promise<MethodResult> {
  const identity: RequestIdentity = { principal: call.caller.principal.id, method: call.request.method, boundParams };
  const rounds = createInputRounds(await answersSoFar(call, identity), call.capabilities);
  try {
    return await run({ ...clientOf(call), ask: rounds.ask });
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    const now = call.server.host.use('schedule').now();
    const requestState = sealRequestState(await call.server.signingKey(), identity, rounds.used, now);
    return {
      resultType: 'input_required',
      members: membersText({ inputRequests: rounds.open, requestState }),
    };
  }
}

async function answersSoFar({ server, params }: MethodCall, identity: RequestIdentity): Promise<JsonObject> {
  const sent = member(params, 'inputResponses');
  const responses = sent === undefined ? {} : inputResponses(sent);
  const state = member(params, 'requestState');
  if (state === undefined) return responses;
  const earlier = openRequestState(await server.signingKey(), identity, state, server.host.use('schedule').now());
  return { ...earlier, ...responses };
}

function clientOf(call: MethodCall): ClientSide {
  const { outbound, meta } = call;
  const token = member(meta, 'progressToken');
  const wantsProgress = outbound.open && (typeof token === 'string' || typeof token === 'number');
  const level = call.mode === 'session' ? call.session?.logLevel : member(meta, metaNames.logLevel);
  return {
    capabilities: call.capabilities,
    release: outbound.release,
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

/** Ends a run that cannot continue without an answer; the client repeats the request with it. */
export class InputRequired extends Error {
  constructor() {
    super('Waiting for input of the client.');
    this.name = 'InputRequired';
  }
}

/** The questions of one run: earlier answers are returned at once, a question without an answer ends the run. */
interface InputRounds {
  ask(request: JsonObject): Promise<JsonObject>;
  /** Questions without an answer. */
  readonly open: Readonly<Record<string, JsonObject>>;
  /** Answers that were used, to be sent with the next question. */
  readonly used: JsonObject;
}

/** @param answers of this round and the earlier ones, by key. */
function createInputRounds(answers: JsonObject, capabilities: JsonObject | undefined): InputRounds {
  const open: Record<string, JsonObject> = {};
  const used: Record<string, JsonObject> = {};
  let asked = 0;
  return {
    open,
    used,
    async ask(question) {
      const { key, request } = keyed(question, ++asked);
      requireCapability(capabilities, capabilityFor(request));
      const answer = member(answers, key);
      if (answer !== undefined) {
        const checked = await checkedAnswer(request, answer);
        used[key] = checked;
        return checked;
      }
      open[key] = request;
      // Questions asked concurrently are sent together: each waits for one iteration of the event loop.
      await new Promise((resolve) => setImmediate(resolve));
      throw new InputRequired();
    },
  };
}
