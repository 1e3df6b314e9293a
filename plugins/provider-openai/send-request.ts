import {
  type CallLimits,
  callLimits,
  type OpenAnswer,
  openAnswerBody,
  readFailure,
  retryRequest,
} from 'mortise/contracts/models';
import type { GenerateRequest } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import { accountOf, type Clients, type Settings } from './clients.js';
import { type RequestBody, requestBody } from './request-body.js';

/** Sends a request and returns the first bytes of its answer, with as many retries as the settings allow. */
type Opener = (request: GenerateRequest, settings: Settings, signal: AbortSignal) => Promise<OpenAnswer>;

export function createOpener(clients: Clients): Opener {
  /** Addresses that refuse `stream_options`. */
  const withoutUsage = new Set<string>();
  return async (request, settings, signal) => {
    const client = await clients.of(accountOf(settings));
    const { base_url: address } = settings;
    const limits = callLimits(settings);
    let asksUsage = request.stream && !withoutUsage.has(address);
    let body = requestBody(request, settings, asksUsage);
    const attempt = async (): Promise<OpenAnswer> => {
      try {
        return await openAnswer(client, body, limits, signal);
      } catch (thrown) {
        if (!asksUsage || !readFailure(thrown, Date.now()).refusesUsage) throw thrown;
        withoutUsage.add(address);
        asksUsage = false;
        body = requestBody(request, settings, asksUsage);
        return openAnswer(client, body, limits, signal);
      }
    };
    return retryRequest(attempt, limits.maxRetries, signal);
  };
}

/** One request, up to the first byte of its answer. @throws what the SDK or the connection throws */
function openAnswer(client: OpenAI, body: RequestBody, limits: CallLimits, caller: AbortSignal): Promise<OpenAnswer> {
  const headers = body.stream ? { Accept: 'text/event-stream' } : {};
  const send = (signal: AbortSignal) => client.chat.completions.create(body, { signal, headers }).asResponse();
  return openAnswerBody(send, body.stream === true, limits, caller);
}
