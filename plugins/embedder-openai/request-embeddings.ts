import { setTimeout as delay } from 'node:timers/promises';
import type { Embedder } from 'mortise/contracts/text-analysis';
import { type GuardedFetch, MortiseError, retryAfterMs } from 'mortise/sdk';
import type { Config } from './config.generated.js';

const firstDelayMs = 250;
const maxDelayMs = 8_000;

/** A transient failure: the same request may succeed later. */
function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** How long to wait before a retry: as the server requests, else twice as long as before. */
function delayOf(response: Response | undefined, attempt: number): number {
  return Math.min(maxDelayMs, (response && retryAfterMs(response.headers)) ?? firstDelayMs * 2 ** attempt);
}

function failure(
  message: string,
  options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
): MortiseError {
  return new MortiseError('embedder_unavailable', message, { status: 502, ...options });
}

/** Calls `POST /embeddings`, with retries. An empty list needs no request. */
export function createEmbed(fetch: GuardedFetch, config: Config): Embedder['embed'] {
  const url = `${config.base_url.replace(/\/$/, '')}/embeddings`;
  const headers = {
    'content-type': 'application/json',
    ...(config.api_key === undefined ? {} : { authorization: `Bearer ${config.api_key}` }),
  };
  const ask = async (texts: readonly string[], signal: AbortSignal): Promise<readonly number[][]> => {
    const body = JSON.stringify({
      model: config.model,
      // Some servers refuse an empty text.
      input: texts.map((text) => (text === '' ? ' ' : text.toWellFormed())),
      encoding_format: 'float',
      ...(config.send_dimensions ? { dimensions: config.dimensions } : {}),
    });
    for (let attempt = 0; ; attempt += 1) {
      let response: Response | undefined;
      let cause: unknown;
      try {
        response = await fetch(url, { method: 'POST', headers, body, signal });
      } catch (error) {
        signal.throwIfAborted();
        if ((error as { code?: unknown }).code === 'network_denied') throw error;
        cause = error;
      }
      if (response?.ok) return vectorsOf(await response.json(), texts.length);
      const { status } = response ?? { status: 0 };
      await response?.body?.cancel();
      const mayPass = response === undefined || isPassing(status);
      if (!mayPass || attempt >= config.max_retries) {
        const why = response === undefined ? 'does not answer' : `answered ${status}`;
        throw failure(`The embedding server ${why}.`, { retryable: mayPass, cause });
      }
      await delay(delayOf(response, attempt), undefined, { signal });
    }
  };
  return async ({ texts }, { signal }) => {
    const vectors: (readonly number[])[] = [];
    for (let at = 0; at < texts.length; at += config.batch_size) {
      vectors.push(...(await ask(texts.slice(at, at + config.batch_size), signal)));
    }
    return vectors;
  };
}

/** The vectors of an answer, in the order of the texts. */
function vectorsOf(answer: unknown, count: number): readonly number[][] {
  const { data } = (answer ?? {}) as { readonly data?: unknown };
  if (!Array.isArray(data) || data.length !== count)
    throw failure('The embedding server did not return one vector per text.');
  const vectors: number[][] = [];
  for (const [place, item] of data.entries()) {
    const { index = place, embedding } = (item ?? {}) as { readonly index?: number; readonly embedding?: unknown };
    if (!Array.isArray(embedding))
      throw failure('The embedding server returned something other than lists of numbers.');
    vectors[index] = embedding as number[];
  }
  return vectors;
}
