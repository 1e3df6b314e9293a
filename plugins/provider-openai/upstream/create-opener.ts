import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerateRequest } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import { requestBody } from '../request/request-body.js';
import type { Clients } from './create-clients.js';
import { type OpenAnswer, openAnswer } from './open-answer.js';
import { readFailure } from './read-failure.js';
import { withRetries } from './retry.js';

/** Asks the API and comes back with the first bytes of its answer, after as many repeats as the settings allow. */
export type Opener = (request: GenerateRequest, settings: Config, signal: AbortSignal) => Promise<OpenAnswer>;

export function createOpener(clients: Clients): Opener {
  /** Base URLs that reject the option to report a stream's usage. */
  const withoutUsage = new Set<string>();
  return async (request, settings, signal) => {
    const client = await clients.of(settings);
    const { base_url: address, idle_timeout_ms: idleMs } = settings;
    const limits = { signal, idleMs };
    let asksUsage = request.stream && !withoutUsage.has(address);
    let body = requestBody(request, settings, asksUsage);
    const attempt = async (): Promise<OpenAnswer> => {
      try {
        return await openAnswer(client, body, limits);
      } catch (thrown) {
        if (!asksUsage || !readFailure(thrown, Date.now()).dislikesUsage) throw thrown;
        withoutUsage.add(address);
        asksUsage = false;
        body = requestBody(request, settings, asksUsage);
        return openAnswer(client, body, limits);
      }
    };
    return withRetries(attempt, {
      most: settings.max_retries,
      wait: (ms) => sleep(ms, undefined, { signal }),
      random: Math.random,
      read: (thrown) => readFailure(thrown, Date.now()),
      check: () => signal.throwIfAborted(),
    });
  };
}
