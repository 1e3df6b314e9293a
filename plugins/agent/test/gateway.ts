import { setTimeout as sleep } from 'node:timers/promises';
import type { GateAction } from 'mortise/contracts/gate';
import type { GenerateEvent, GenerateRequest, PluginDefinition } from 'mortise/sdk';
import {
  createTestHost,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
} from 'mortise/sdk/testing';

export type Script = (request: GenerateRequest, call: number, signal: AbortSignal) => AsyncIterable<GenerateEvent>;

/** A model that does what the test says, in the place of the demo model. */
export interface FakeModel {
  readonly plugin: TestPlugin;
  readonly requests: GenerateRequest[];
  /** Signals of the calls, in order. */
  readonly signals: AbortSignal[];
}

export function fakeModel(script: Script, capabilities: Partial<Record<string, boolean>> = {}): FakeModel {
  const facts = {
    capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false, ...capabilities },
  };
  const requests: GenerateRequest[] = [];
  const signals: AbortSignal[] = [];
  const definition: PluginDefinition = {
    key: 'fake-model',
    register(host) {
      host.contribute('provider', 'demo', {
        ...facts,
        generate(request, ctx) {
          requests.push(request);
          signals.push(ctx.signal);
          return script(request, requests.length, ctx.signal);
        },
      });
    },
  };
  const manifest = { key: 'fake-model', contributes: { provider: [{ key: 'demo', facts }] } };
  return { plugin: { manifest, definition }, requests, signals };
}

/** An answer in the pieces given. */
export async function* says(...deltas: string[]): AsyncGenerator<GenerateEvent> {
  for (const text of deltas) yield { type: 'content_delta', text };
  yield { type: 'done' };
}

/** A round that asks for tools: `[id, name, arguments]`. */
export async function* asksFor(...calls: [id: string, name: string, args: string][]): AsyncGenerator<GenerateEvent> {
  yield { type: 'tool_calls_complete', toolCalls: calls.map(([id, name, args]) => ({ id, name, arguments: args })) };
  yield { type: 'done' };
}

/** Answers after a moment, unless it is told to stop. */
export async function* slowly(ms: number, text: string, signal: AbortSignal): AsyncGenerator<GenerateEvent> {
  await sleep(ms, undefined, { signal });
  yield* says(text);
}

/** A tool for agents made from one function. */
export function tool(
  name: string,
  run: (args: Readonly<Record<string, unknown>>) => object | Promise<object>,
): TestPlugin {
  const facts = {
    summary: 'Made by a test.',
    audience: ['agent' as const],
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: false },
  };
  return {
    manifest: { key: `tool-${name}`, contributes: { tool: [{ key: name, facts }] } },
    definition: {
      key: `tool-${name}`,
      register(host) {
        host.contribute('tool', name, { ...facts, run });
      },
    },
  };
}

/** A source of one layer; without content it fails. */
export function promptSource(key: string, order: number, required: boolean, content?: string): TestPlugin {
  const facts = { summary: 'Made by a test.', order, required };
  return {
    manifest: { key: `prompt-${key}`, contributes: { 'prompt-source': [{ key, facts }] } },
    definition: {
      key: `prompt-${key}`,
      register(host) {
        host.contribute('prompt-source', key, {
          ...facts,
          async build() {
            if (content === undefined) throw new Error('gone');
            return [{ name: key, role: 'system' as const, source: `runtime://${key}`, content }];
          },
        });
      },
    },
  };
}

/** A gate that decides as it is told. */
export function gatePlugin(decide: () => { readonly action: string; readonly reason: string }): TestPlugin {
  return {
    manifest: { key: 'gate', provides: ['gate'] },
    definition: {
      key: 'gate',
      register(host) {
        host.provide('gate', {
          handle(observation, { sessionKey }) {
            const { action, reason } = decide();
            const decision = {
              action: action as GateAction,
              reason,
              reasons: [reason],
              scene: 'dialogue',
              session_key: sessionKey,
              trace_id: observation.trace_id,
            };
            return { decision, emit: [], ingest: [] };
          },
          ingest: () => undefined,
        });
      },
    },
  };
}

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

export function user(text: string): object {
  return { role: 'user', type: 'message', content: [{ type: 'text', text }] };
}

/** The events of a stream; the last one is `[DONE]`. */
export async function eventsOf(response: Response): Promise<unknown[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : JSON.parse(frame.slice(6))));
}

export async function errorOf(
  response: Response,
): Promise<{ status: number; code: string; message: string; details?: unknown }> {
  const { error } = (await response.json()) as { error: { code: string; message: string; details?: unknown } };
  return { status: response.status, ...error };
}

export interface ShownTurn {
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
