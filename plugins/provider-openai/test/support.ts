import { type FakeOpenAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import type { GenerateEvent, GenerateRequest, ProviderSettings } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

export const apiKey = 'sk-test-key-0123456789abcdef';

export interface OpenAiHost {
  readonly host: TestHost;
  readonly upstream: FakeOpenAi;
  /** Every event of one answer. */
  ask(request?: Partial<GenerateRequest>, signal?: AbortSignal): Promise<GenerateEvent[]>;
  stream(request?: Partial<GenerateRequest>, signal?: AbortSignal): AsyncIterable<GenerateEvent>;
  stop(): Promise<void>;
}

/** A platform with this plugin alone, set up for a scripted API. `settings` are those of every request. */
export async function openAiHost(config: object = {}, settings: ProviderSettings = {}): Promise<OpenAiHost> {
  const upstream = await startFakeOpenAi({ apiKey });
  const host = await createTestHost({
    plugins: ['provider-openai'],
    config: { 'provider-openai': { base_url: upstream.baseUrl, api_key: apiKey, ...config } },
    listen: false,
  });
  const stream: OpenAiHost['stream'] = (request, signal) => {
    const asked = say({ ...request, settings: { ...settings, ...request?.settings } });
    return host.points.stream('provider', 'openai-compatible', (provider, ctx) => provider.generate(asked, ctx), {
      signal,
    });
  };
  return {
    host,
    upstream,
    stream,
    async ask(request, signal) {
      const events: GenerateEvent[] = [];
      for await (const event of stream(request, signal)) events.push(event);
      return events;
    },
    async stop() {
      await host.stop();
      await upstream.stop();
    },
  };
}

export function say(more: Partial<GenerateRequest> = {}): GenerateRequest {
  const messages = [{ role: 'user', content: 'hello' }] as const;
  return { model: 'gpt-4o-mini', messages, stream: true, settings: {}, ...more };
}

export function textOf(events: readonly GenerateEvent[]): string {
  return events.map((event) => (event.type === 'content_delta' ? event.text : '')).join('');
}

interface CaughtError {
  readonly code: string;
  readonly message: string;
  readonly status: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** What the call was refused with. */
export async function failureOf(run: Promise<unknown>): Promise<CaughtError> {
  const outcome = await run.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in outcome) throw new Error(`It did not fail: ${JSON.stringify(outcome.value)}`);
  const { code, message, status, details } = outcome.error as CaughtError;
  return { code, message, status, ...(details ? { details } : {}) };
}
