import { startUpstream, type Upstream } from 'mortise/contracts/models/testing';
import { fails } from './answers.js';

export * as codex from './answers.js';

export interface FakeResponsesOptions {
  /** Requests without this key are refused (401). */
  readonly apiKey?: string;
}

/** Starts a scripted fake of the responses API on loopback. */
export function startFakeResponses({ apiKey }: FakeResponsesOptions = {}): Promise<Upstream> {
  return startUpstream({
    basePath: '/v1',
    nothingScripted: fails(500, { message: 'Nothing is scripted for this request.' }),
    refuse({ method, path: target, headers }) {
      const [path] = target.split('?');
      if (method !== 'POST' || path !== '/v1/responses')
        return fails(404, { message: `Invalid URL (${method} ${path})` });
      if (apiKey === undefined || headers.authorization === `Bearer ${apiKey}`) return undefined;
      return fails(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' });
    },
  });
}
