import { startUpstream, type Upstream } from 'mortise/contracts/models/testing';
import { fails } from './fake-openai/answers.js';

export { createGate, type Gate } from 'mortise/contracts/models/testing';
export type {
  ChatRequest,
  CompletionScript,
  Piece,
  ScriptedAnswer,
  ScriptedCall,
  UpstreamAnswer,
} from './fake-openai/answers.js';
export * as openAi from './fake-openai/answers.js';

export interface FakeOpenAiOptions {
  /** Requests without this key are refused (401). */
  readonly apiKey?: string;
}

/** A scripted fake of a chat-completions API. */
export type FakeOpenAi = Upstream;

/** Starts the server on loopback. */
export function startFakeOpenAi({ apiKey }: FakeOpenAiOptions = {}): Promise<FakeOpenAi> {
  return startUpstream({
    basePath: '/v1',
    nothingScripted: fails(500, { message: 'Nothing is scripted for this request.' }),
    refuse({ method, path: target, headers }) {
      const [path] = target.split('?');
      if (method !== 'POST' || path !== '/v1/chat/completions') {
        return fails(404, { message: `Invalid URL (${method} ${path})` });
      }
      if (apiKey === undefined || headers.authorization === `Bearer ${apiKey}`) return undefined;
      return fails(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' });
    },
  });
}
