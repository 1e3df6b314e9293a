import {
  callLimits,
  forwardRaw,
  type OpenAnswer,
  openAnswerBody,
  readAnswer,
  retryRequest,
  withinTimeout,
} from 'mortise/contracts/models';
import type { GenerateRequest, GuardedFetch, Provider, ProviderFacts } from 'mortise/sdk';
import { AnswerReader } from './answer-reader.js';
import { accountOf, type Clients } from './clients.js';
import { requestBody } from './request-body.js';

/** The adapter for OpenAI's responses API and compatible ones. */
export function createProvider(facts: ProviderFacts, clients: Clients, fetch: GuardedFetch): Provider {
  const open = async (request: GenerateRequest, signal: AbortSignal): Promise<OpenAnswer> => {
    const limits = callLimits(request.settings);
    const client = await clients.of(accountOf(request.settings));
    const body = requestBody(request);
    const headers = { accept: 'text/event-stream' };
    const send = (attempt: AbortSignal) => client.responses.create(body, { signal: attempt, headers }).asResponse();
    return retryRequest(() => openAnswerBody(send, true, limits, signal), limits.maxRetries, signal);
  };
  return {
    ...facts,
    generate: (request, ctx) =>
      withinTimeout(request, callLimits(request.settings).timeoutMs, ctx, async function* answer(signal) {
        const found = await open(request, signal);
        yield* readAnswer(found, new AnswerReader());
      }),
    // The API has no stop sequences.
    ignoredOptions: () => ['stop'],
    raw(exchange, ctx) {
      const { apiKey, baseUrl, headers } = accountOf(exchange.settings);
      const account = { baseUrl, headers: { authorization: `Bearer ${apiKey}`, ...headers } };
      return forwardRaw(fetch, exchange, account, ctx);
    },
  };
}
