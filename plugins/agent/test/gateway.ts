import { type FakeModel, user } from 'mortise/contracts/agent/testing';
import {
  contributing,
  createTestHost,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
} from 'mortise/sdk/testing';

/** A source of one layer; without content it fails. */
export const promptSource = (key: string, order: number, required: boolean, content?: string): TestPlugin =>
  contributing(
    'prompt-source',
    key,
    { summary: 'Made by a test.', order, required },
    {
      async build() {
        if (content === undefined) throw new Error('gone');
        return [{ name: key, role: 'system' as const, source: `runtime://${key}`, content }];
      },
    },
    `prompt-${key}`,
  );

export interface Gateway {
  readonly host: TestHost;
  /** `POST /agent/process` of session `s1`, user `u1`, with one user text. */
  process(text: string, extra?: object, headers?: Record<string, string>): Promise<Response>;
}

export async function openGateway(
  engine: TestEngine,
  options: TestHostOptions & { readonly model?: FakeModel } = {},
): Promise<Gateway> {
  const { model, ...rest } = options;
  const host = await createTestHost({
    plugins: ['agent', 'channel-console', ...(model ? [] : ['provider-demo'])],
    database: engine.env,
    ...rest,
    extra: [...(model ? [model.plugin] : []), ...(rest.extra ?? [])],
  });
  return {
    host,
    process: (text, extra = {}, headers = {}) =>
      host.post(
        '/agent/process',
        { session_id: 's1', user_id: 'u1', channel: 'console', input: [user(text)], ...extra },
        headers,
      ),
  };
}

interface ShownTurn {
  readonly turn_id: string;
  readonly chat_id: string;
  readonly status: string;
  readonly reply: string | null;
  readonly error: { code: string } | null;
  readonly steps: number;
  readonly input: unknown[];
}

/** Turn records of the newest chat of the session, newest first. */
export async function turnsOf(host: TestHost): Promise<ShownTurn[]> {
  const chats = (await (await host.fetch('/chats?user_id=u1')).json()) as { id: string }[];
  if (!chats[0]) return [];
  return (await (await host.fetch(`/chats/${chats[0].id}/turns`)).json()) as ShownTurn[];
}
