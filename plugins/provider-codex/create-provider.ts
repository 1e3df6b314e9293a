import {
  callLimits,
  forwardRaw,
  isRemark,
  type OpenAnswer,
  openAnswerBody,
  parseObject,
  readBody,
  readEvents,
  retryRequest,
  withinTimeout,
} from 'mortise/contracts/models';
import type { GenerateEvent, GenerateRequest, GuardedFetch, Provider, ProviderFacts } from 'mortise/sdk';
import { AnswerReader } from './answer-reader.js';
import { accountOf, type Clients } from './clients.js';
import { requestBody } from './request-body.js';

/** The adapter for OpenAI's responses API and compatible ones. */
export function createProvider(facts: ProviderFacts, clients: Clients, fetch: GuardedFetch): Provider {
  const open = async (request: GenerateRequest, signal: AbortSignal): Promise<OpenAnswer> => {
    const limits = callLimits(request.settings);
    const client = await clients.of(request.settings);
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
        yield* found.streams ? readStream(found) : readWhole(found);
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

async function* readStream(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  for await (const data of readEvents(answer)) {
    if (!isRemark(data)) yield* reader.event(parseObject(data));
    if (reader.ended) break;
  }
  yield* reader.end();
}

async function* readWhole(answer: OpenAnswer): AsyncGenerator<GenerateEvent> {
  const reader = new AnswerReader();
  const pieces = reader.body(parseObject(await readBody(answer)));
  const ending = reader.end();
  yield* pieces;
  yield* ending;
}
