import { type ScriptedProvider, scriptedProvider } from 'mortise/contracts/models/testing';
import type { ProviderFacts } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';
import { OpenAI } from 'openai';

export interface OpenAiHost {
  readonly host: TestHost;
  readonly scripted: ScriptedProvider;
  /** The official client, without retries. */
  readonly client: OpenAI;
  chat(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  respond(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  stop(): Promise<void>;
}

/** The platform with this plugin, the demo and an adapter with scripted answers. */
export async function openAiHost(
  capabilities: Partial<ProviderFacts['capabilities']> = {},
  { plugins = [], ...options }: TestHostOptions = {},
): Promise<OpenAiHost> {
  const scripted = scriptedProvider(capabilities);
  const host = await createTestHost({
    plugins: ['openai-api', 'provider-demo', ...plugins],
    ...options,
    extra: [scripted.plugin, ...(options.extra ?? [])],
  });
  return {
    host,
    scripted,
    client: new OpenAI({ apiKey: 'any', baseURL: `${host.origin}/v1`, maxRetries: 0 }),
    chat: (body, headers) => host.post('/v1/chat/completions', body, headers),
    respond: (body, headers) => host.post('/v1/responses', body, headers),
    stop: () => host.stop(),
  };
}

/** A chat completion with one user message. */
export function say(text: string, more: object = {}) {
  return { model: 'scripted/m', messages: [{ role: 'user' as const, content: text }], ...more };
}

/** The data of each frame of a stream; the end mark as text. */
export function dataOf(text: string): readonly unknown[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      const data = frame.replace(/^(?:event: .*\n)?data: /, '');
      return data === '[DONE]' ? data : (JSON.parse(data) as unknown);
    });
}
