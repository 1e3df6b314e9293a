import {
  type ApiRequest,
  admitRequest,
  estimateInput,
  type ModelApiDeps,
  openRaw,
  passesThrough,
  passOn,
  type ResolvedModel,
  rawExchange,
} from 'mortise/contracts/models';
import {
  callOptions,
  isCodedError,
  type Route,
  type RouteContext,
  type RouteRequest,
  type RouteResponse,
} from 'mortise/sdk';
import { messagesApi } from './messages-api.js';
import { readMessages } from './read-messages.js';
import { translateRequest } from './translate-request.js';

/** `POST /v1/messages/count_tokens`: the provider's own count, or an estimate. */
export function countTokensRoute(deps: ModelApiDeps): Route {
  return {
    async handle(request, ctx) {
      const asked = messagesApi.read(request);
      const model = await admitRequest(deps, messagesApi, asked, ctx);
      const counted = passesThrough(deps, messagesApi, model)
        ? await forward(deps, request, asked, model, ctx)
        : await askAdapter(deps, asked, model, ctx);
      if (counted) {
        ctx.setHeader('X-Mortise-Token-Source', 'provider');
        return counted;
      }
      // Attachments are not counted, whether the model accepts them or not.
      const tokens = estimateInput(readMessages(asked.body, true), asked.body);
      ctx.setHeader('X-Mortise-Token-Source', 'estimate');
      return { body: { input_tokens: tokens } };
    },
  };
}

/** Undefined when the provider cannot be reached, has failed, or does not count. */
async function forward(
  { points }: ModelApiDeps,
  request: RouteRequest,
  asked: ApiRequest,
  model: ResolvedModel,
  ctx: RouteContext,
): Promise<RouteResponse | undefined> {
  try {
    const exchange = { ...rawExchange(messagesApi, request, asked, model), startsAtOnce: true };
    const answer = await openRaw(points, model, exchange, ctx);
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
  { points }: ModelApiDeps,
  asked: ApiRequest,
  model: ResolvedModel,
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
