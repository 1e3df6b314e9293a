import type { Upstream } from 'mortise/contracts/models/testing';
import { startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import type { GenerateEvent, GenerateRequest } from 'mortise/sdk';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

export const apiKey = 'sk-ant-test-key-0123456789';

export interface AnthropicHost {
  readonly host: TestHost;
  readonly upstream: Upstream;
  /** Every event of one answer. */
  ask(request?: Partial<GenerateRequest>, signal?: AbortSignal): Promise<GenerateEvent[]>;
  stream(request?: Partial<GenerateRequest>, signal?: AbortSignal): AsyncIterable<GenerateEvent>;
  /** A request to the scripted API. */
  say(more?: Partial<GenerateRequest>): GenerateRequest;
  stop(): Promise<void>;
}

/** A platform with this plugin alone, and a scripted API. */
export async function anthropicHost(): Promise<AnthropicHost> {
  const upstream = await startFakeAnthropic({ apiKey });
  const host = await createTestHost({ plugins: ['provider-anthropic'], listen: false });
  const say: AnthropicHost['say'] = ({ settings, ...more } = {}) => ({
    model: 'claude-sonnet-5-5',
    messages: [{ role: 'user', content: 'hello' }],
    stream: true,
    settings: { api_key: apiKey, base_url: upstream.baseUrl, ...settings },
    ...more,
  });
  const stream: AnthropicHost['stream'] = (request, signal) =>
    host.points.stream('provider', 'anthropic', (provider, ctx) => provider.generate(say(request), ctx), { signal });
  return {
    host,
    upstream,
    say,
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

/** What the call was refused with. */
export async function failureOf(run: Promise<unknown>) {
  const outcome = await run.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in outcome) throw new Error(`It did not fail: ${JSON.stringify(outcome.value)}`);
  const { code, message, status, details } = outcome.error as {
    code: string;
    message: string;
    status: number;
    details?: object;
  };
  return { code, message, status, ...(details ? { details } : {}) };
}
