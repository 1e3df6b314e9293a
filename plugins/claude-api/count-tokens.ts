import { estimateInput, nameModel, openRaw, passOn, refuseStopped } from 'mortise/contracts/models';
import {
  callOptions,
  isCodedError,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
} from 'mortise/sdk';
import { findModel, isOwn, type MessagesDeps, rawExchange } from './messages.js';
import { readMessages } from './read-messages.js';
import { type ClaudeRequest, readClaudeRequest } from './request.js';
import { translateRequest } from './translate-request.js';

type CountDeps = Pick<MessagesDeps, 'points' | 'models' | 'gate' | 'passable'>;
type FoundModel = Awaited<ReturnType<typeof findModel>>;

/** `POST /v1/messages/count_tokens`: the provider's own count, or an estimate. */
export function countTokensRoute(deps: CountDeps): Route {
  return {
    async handle(request, ctx) {
      const asked = readClaudeRequest(request.body);
      refuseStopped(deps.gate.current, asked.user, ctx.principal);
      const model = await findModel(deps.models, asked.model);
      nameModel(ctx, model);
      const counted = isOwn(deps, model)
        ? await forward(deps, request, asked, model, ctx)
        : await askAdapter(deps, asked, model, ctx);
      if (counted) {
        ctx.setHeader('X-Mortise-Token-Source', 'provider');
        return counted;
      }
      // Attachments count nothing, whether the model accepts them or not.
      const tokens = estimateInput(readMessages(asked.body, true), asked.body);
      ctx.setHeader('X-Mortise-Token-Source', 'estimate');
      return { body: { input_tokens: tokens } };
    },
  };
}

/** Undefined when the provider cannot be reached, has failed, or does not count. */
async function forward(
  { points }: CountDeps,
  request: RouteRequest,
  asked: ClaudeRequest,
  model: FoundModel,
  ctx: RouteContext,
): Promise<RouteResponse | undefined> {
  try {
    const answer = await openRaw(points, model, rawExchange(request, asked, model), ctx);
    if (answer.status !== 404 && answer.status < 500) return passOn(answer);
    await answer.body[Symbol.asyncIterator]().return?.();
  } catch (error) {
    ctx.signal.throwIfAborted();
    if (!isCodedError(error)) throw error;
  }
  return undefined;
}

/** Undefined when the adapter does not count, or fails to. */
async function askAdapter(
  { points }: CountDeps,
  asked: ClaudeRequest,
  model: FoundModel,
  ctx: RouteContext,
): Promise<RouteResponse | undefined> {
  const counts = points
    .list('provider')
    .some(({ key, offers }) => key === model.adapter && offers.includes('countTokens'));
  if (!counts) return undefined;
  const { request } = translateRequest({ max_tokens: 1, ...asked.body }, model);
  try {
    const tokens = await points.call(
      'provider',
      model.adapter,
      (provider, call) => provider.countTokens?.(request, call),
      callOptions(ctx),
    );
    return tokens === undefined ? undefined : { body: { input_tokens: tokens } };
  } catch {
    ctx.signal.throwIfAborted();
    return undefined;
  }
}
