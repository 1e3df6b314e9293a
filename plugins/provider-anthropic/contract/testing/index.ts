import { startUpstream, type Upstream } from 'mortise/contracts/models/testing';
import { fails } from './answers.js';

export * as anthropic from './answers.js';

export interface FakeAnthropicOptions {
  /** Requests without this key are refused (401). */
  readonly apiKey?: string;
}

const paths: readonly string[] = ['/v1/messages', '/v1/messages/count_tokens'];

/** Starts a scripted fake of Anthropic's messages API on loopback. */
export function startFakeAnthropic({ apiKey }: FakeAnthropicOptions = {}): Promise<Upstream> {
  return startUpstream({
    nothingScripted: fails(500, { message: 'Nothing is scripted for this request.' }),
    refuse({ method, path: target, headers }) {
      const [path = ''] = target.split('?');
      if (method !== 'POST' || !paths.includes(path))
        return fails(404, { type: 'not_found_error', message: 'Not found' });
      if (apiKey === undefined || headers['x-api-key'] === apiKey) return undefined;
      return fails(401, { type: 'authentication_error', message: 'invalid x-api-key' });
    },
  });
}
