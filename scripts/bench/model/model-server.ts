import { type BenchServer, type Dialect, openServer } from '../turns/server.js';

/** The server as shipped, with a scripted API for its model. */
export function openModelServer(dialect: Dialect, baseUrl: string, profile?: string): Promise<BenchServer> {
  return openServer(dialect, {
    profile,
    env: {
      MORTISE_MODEL: 'openai/gpt-4o-mini',
      OPENAI_API_KEY: 'any',
      OPENAI_BASE_URL: baseUrl,
      MORTISE_MAX_CONCURRENT_TURNS: '10000',
    },
  });
}

/** The body of a direct chat completion request. */
export function chatBody(content: string): object {
  const messages = [{ role: 'user', content }];
  return { model: 'gpt-4o-mini', messages, stream: true, stream_options: { include_usage: true } };
}

/** The body of a turn in the given session. */
export function turnBody(content: string, session: string): object {
  const input = [{ role: 'user', type: 'message', content: [{ type: 'text', text: content }] }];
  return { session_id: session, user_id: 'bench', stream: true, input };
}
