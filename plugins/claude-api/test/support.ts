import { Anthropic } from '@anthropic-ai/sdk';
import { type ScriptedProvider, scriptedProvider } from 'mortise/contracts/models/testing';
import type { ProviderFacts } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';

export interface ClaudeHost {
  readonly host: TestHost;
  readonly scripted: ScriptedProvider;
  /** The official client, without retries. */
  readonly client: Anthropic;
  ask(body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>;
  stop(): Promise<void>;
}

/** The platform with this plugin, the demo and an adapter with scripted answers. */
export async function claudeHost(
  capabilities: Partial<ProviderFacts['capabilities']> = {},
  { plugins = [], ...options }: TestHostOptions = {},
): Promise<ClaudeHost> {
  const scripted = scriptedProvider(capabilities);
  const host = await createTestHost({
    plugins: ['claude-api', 'provider-demo', ...plugins],
    ...options,
    extra: [scripted.plugin, ...(options.extra ?? [])],
  });
  return {
    host,
    scripted,
    client: new Anthropic({ apiKey: 'any', baseURL: host.origin, maxRetries: 0 }),
    ask: (body, headers) => host.post('/v1/messages', body, headers),
    stop: () => host.stop(),
  };
}

/** A request with one user message. */
export function say(text: string, more: object = {}) {
  return { model: 'scripted/m', max_tokens: 64, messages: [{ role: 'user', content: text }], ...more };
}

interface ClaudeEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** The events of a stream, with the name of each frame checked against its data. */
export function eventsOf(text: string): readonly ClaudeEvent[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? [];
      const event = JSON.parse(data) as ClaudeEvent;
      if (event.type !== name) throw new Error(`The frame "${name}" has an event "${event.type}".`);
      return event;
    });
}
