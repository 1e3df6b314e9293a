import {
  callLimits,
  forwardRaw,
  isCount,
  type OpenAnswer,
  objectOf,
  openAnswerBody,
  providerError,
  readAnswer,
  readFailure,
  retryRequest,
  withinHeadLimit,
  withinTimeLimit,
  withinTimeout,
} from 'mortise/contracts/models';
import type { GenerateRequest, GuardedFetch, Provider, ProviderFacts } from 'mortise/sdk';
import { AnswerReader } from './answer-reader.js';
import { accountOf, type Clients } from './clients.js';
import { countBody, ignoredOptions, requestBody } from './request-body.js';

const jsonBody = { 'content-type': 'application/json' };

/** The adapter for Anthropic's messages API. */
export function createProvider(facts: ProviderFacts, clients: Clients, fetch: GuardedFetch): Provider {
  /** Models with adaptive thinking, which refuse budgets. */
  const adaptive = new Set<string>();

  const open = async (request: GenerateRequest, signal: AbortSignal): Promise<OpenAnswer> => {
    const { settings, model, stream } = request;
    const limits = callLimits(settings);
    const client = await clients.of(accountOf(settings));
    const accept = stream ? 'text/event-stream' : 'application/json';
    const send = async (): Promise<OpenAnswer> => {
      const body = requestBody(request, settings, adaptive.has(model));
      const headers = { ...jsonBody, accept };
      const post = (attempt: AbortSignal) =>
        client.post('/v1/messages', { body, signal: attempt, stream, headers }).asResponse();
      return openAnswerBody(post, stream, limits, signal);
    };
    const attempt = async (): Promise<OpenAnswer> => {
      try {
        return await send();
      } catch (thrown) {
        if (adaptive.has(model) || !refusesBudget(thrown)) throw thrown;
        adaptive.add(model);
        return send();
      }
    };
    return retryRequest(attempt, limits.maxRetries, signal);
  };

  return {
    ...facts,
    generate: (request, ctx) =>
      withinTimeout(request, callLimits(request.settings).timeoutMs, ctx, async function* answer(signal) {
        const found = await open(request, signal);
        yield* readAnswer(found, new AnswerReader());
      }),
    ignoredOptions,
    async countTokens(request, ctx) {
      const client = await clients.of(accountOf(request.settings));
      const { timeoutMs, idleMs, maxRetries } = callLimits(request.settings);
      const count = (signal: AbortSignal): Promise<unknown> =>
        client.post('/v1/messages/count_tokens', { body: countBody(request), signal, headers: jsonBody });
      const counted = await withinTimeLimit(timeoutMs, ctx.signal, (signal) =>
        retryRequest(() => withinHeadLimit(idleMs, signal, count), maxRetries, signal),
      );
      const { input_tokens: tokens } = objectOf(counted);
      if (!isCount(tokens)) throw providerError('provider_invalid_reply', 'provider response has no token count');
      return tokens;
    },
    raw(exchange, ctx) {
      const { baseUrl, headers } = accountOf(exchange.settings);
      const version = exchange.headers['anthropic-version'];
      const own = { ...headers, ...(version === undefined ? {} : { 'anthropic-version': version }) };
      return forwardRaw(fetch, exchange, { baseUrl, headers: own }, ctx);
    },
  };
}

/** Newer models refuse a budget of thinking tokens and name the form that they accept. */
function refusesBudget(thrown: unknown): boolean {
  const failure = readFailure(thrown, Date.now());
  if (failure.retryable) return false;
  const { details } = failure.error(1) as { details?: { provider_status?: unknown; runner_message?: unknown } };
  return details?.provider_status === 400 && /thinking[\s\S]*adaptive/.test(String(details.runner_message ?? ''));
}
