import { randomBytes } from 'node:crypto';
import type { TurnAnswer, TurnFailure } from 'mortise/contracts/agent';
import { configOfChannel, isChannelEnabled } from 'mortise/contracts/channels';
import { idempotencyOf, type NewMessage } from 'mortise/contracts/sessions';
import {
  type CallContext,
  type CronTurnRequest,
  callOptions,
  isCodedError,
  isJsonObject,
  type JsonObject,
  MortiseError,
} from 'mortise/sdk';
import type { CronJobSpec } from './contract/index.js';
import type { CronDeps } from './cron-deps.js';
import { causeOf, cronError } from './errors.js';
import type { StartedRun } from './store/start-runs.js';

type DeliverDeps = Pick<CronDeps, 'turns' | 'channels' | 'points' | 'log' | 'clock'>;

/** Codes of a turn that names a tool or a model that cannot be used. */
const namedCodes: readonly string[] = [
  'tool_not_supported',
  'tool_disabled',
  'provider_not_found',
  'provider_disabled',
  'provider_not_supported',
  'model_not_found',
];

/** Whether a turn of a job could use its tools and its model. @throws MortiseError with one of these codes */
export async function checkTurn(
  { turns }: Pick<DeliverDeps, 'turns'>,
  { text, business = {}, model, tools }: CronTurnRequest,
  spec: CronJobSpec,
  ctx: CallContext,
): Promise<void> {
  const { channel, target } = spec.dispatch;
  const session = { channel, userId: target.user_id, sessionId: target.session_id };
  const input: readonly NewMessage[] = [{ role: 'user', content: text }];
  try {
    await turns()?.admit({ session, input, business: { ...ownParams(spec), ...business }, model, tools }, ctx);
  } catch (error) {
    // Everything else may have changed when the job runs.
    if (!(isCodedError(error) && namedCodes.includes(error.code))) return;
    if (!model || error.code.startsWith('tool_')) throw error;
    throw new MortiseError(error.code, `model "${model.providerId}/${model.model}": ${error.message}`, {
      status: 400,
      cause: error,
    });
  }
}

/** Maximum runs of one session that wait for it. */
const queueLimit = 1_000;

/** The call that a run makes, for the principal that owns the job. */
export function runContext(
  { log }: Pick<CronDeps, 'log'>,
  { row, owner, correlationId }: StartedRun,
  signal: AbortSignal,
): CallContext {
  const trace = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex'), sampled: false };
  return { signal, log, principal: owner, requestId: row.run_id, correlationId, trace };
}

export interface Delivery {
  readonly spec: CronJobSpec;
  readonly ctx: CallContext;
  /** The same for every attempt. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly deadline: number;
}

/** Whether texts of a job become turns; otherwise they are sent as they are. */
export function becomesTurn({ dispatch: { channel, mode } }: CronJobSpec): boolean {
  return mode === 'agent' || (channel === 'console' && mode !== 'raw');
}

/**
 * Does what a text task does: an agent turn in the target session, or the text to the target's channel.
 * @returns the reply; empty without a turn
 * @throws MortiseError `cron_run_failed`
 */
export async function deliverText(
  deps: DeliverDeps,
  text: string,
  delivery: Delivery,
): Promise<{ readonly reply: string }> {
  const { channel } = delivery.spec.dispatch;
  if (channel === 'qq') {
    const message = 'cron dispatch channel "qq" is inbound-only; use channel "console" to persist chat history';
    throw cronError('cron_run_failed', { message });
  }
  if (becomesTurn(delivery.spec)) return runTurn(deps, { text }, delivery);
  await sendRaw(deps, text, delivery);
  return { reply: '' };
}

/** Runs a turn in the target session. @throws MortiseError `cron_run_failed` */
export async function runTurn(
  deps: DeliverDeps,
  { text, business = {}, model, tools }: CronTurnRequest,
  delivery: Delivery,
): Promise<{ readonly reply: string; readonly turnId: string }> {
  const { turns, clock } = deps;
  const { spec, ctx, key, deadline } = delivery;
  const { channel, target } = spec.dispatch;
  if (target.user_id.trim() === '' || target.session_id.trim() === '') {
    throw cronError('cron_run_failed', {
      message: 'cron dispatch target requires non-empty session_id and user_id',
    });
  }
  const service = turns();
  if (!service) {
    throw turnFailed({ status: 503, code: 'agent_unavailable', message: 'no agent is running' });
  }
  const session = { channel, userId: target.user_id, sessionId: target.session_id };
  const input: readonly NewMessage[] = [{ role: 'user', content: text }];
  if (service.isCommand(input)) return { reply: await service.runCommand(session), turnId: '' };
  const params = { ...ownParams(spec), ...business, cron: { job_id: spec.id, job_name: spec.name } };
  let answer: TurnAnswer;
  try {
    const admitted = await service.admit({ session, input, business: params, model, tools }, ctx);
    const { request } = admitted;
    const dispatch = request.dispatch && { ...request.dispatch, deliveryId: key };
    answer = await service.submit(
      { ...admitted, request: { ...request, dispatch } },
      {
        source: `cron:${spec.id}`.slice(0, maxSourceLength),
        ingress: 'cron',
        wait: { limit: queueLimit, timeoutMs: Math.max(1, Math.round(deadline - clock.now())) },
        idempotency: idempotencyOf(key, { text, params, model, tools }),
      },
      ctx,
    );
  } catch (error) {
    throw turnFailed(error);
  }
  if (answer.kind !== 'turn') throw turnFailed(answer.error);
  const { result } = answer;
  if (result.kind === 'failed') throw turnFailed(result.error);
  if (result.kind === 'completed' && result.dispatchError) throw dispatchFailed(channel, result.dispatchError.message);
  // An earlier attempt ran the turn; whether its channel got the reply is not known, and the receiver knows the key.
  if (result.kind === 'replayed' && channel !== 'console') await sendRaw(deps, result.reply, delivery);
  return { reply: result.reply, turnId: result.turnId };
}

const maxSourceLength = 128;

/** `request.biz_params` of the job, without members that have a meaning of their own. */
function ownParams({ request }: CronJobSpec): JsonObject {
  const params = request?.biz_params;
  if (!isJsonObject(params)) return {};
  return Object.fromEntries(
    Object.entries(params).filter(([name]) => name !== 'cron' && name !== 'tool' && !name.startsWith('_')),
  );
}

function turnFailed(error: unknown) {
  const { status = 500, code = 'internal_error' } = (error ?? {}) as Partial<TurnFailure>;
  const shown = isFailure(error) ? error.message : causeOf(error);
  const cause = (error as Partial<TurnFailure> | undefined)?.details?.message;
  const message = typeof cause === 'string' ? `${shown}: ${cause}` : shown;
  return cronError('cron_run_failed', {
    message: `cron console agent execution failed: status=${status} code=${code} message=${message}`,
    cause: error,
  });
}

function isFailure(error: unknown): error is TurnFailure {
  return isJsonObject(error) && typeof error.message === 'string' && !(error instanceof Error);
}

function dispatchFailed(channel: string, cause: string) {
  return cronError('cron_run_failed', { message: `failed to dispatch cron job to channel "${channel}": ${cause}` });
}

/** Sends a text without a model. */
async function sendRaw({ points, channels }: DeliverDeps, text: string, { spec, ctx, key }: Delivery): Promise<void> {
  const { channel, target } = spec.dispatch;
  const found = points.list('channel').find((one) => one.key === channel && one.active);
  if (!found) throw cronError('cron_run_failed', { message: `channel "${channel}" is not supported` });
  const config = configOfChannel(found, channels());
  if (!isChannelEnabled(config)) throw cronError('cron_run_failed', { message: `channel "${channel}" is disabled` });
  try {
    await points.call(
      'channel',
      channel,
      (one, call) =>
        one.sendText({ userId: target.user_id, sessionId: target.session_id, text, config, deliveryId: key }, call),
      callOptions(ctx),
    );
  } catch (error) {
    throw dispatchFailed(channel, causeOf(error));
  }
}
