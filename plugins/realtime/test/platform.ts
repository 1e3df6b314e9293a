import { setTimeout as sleep } from 'node:timers/promises';
import type { MessagePage, SessionRef } from 'mortise/contracts/sessions';
import type { Database, GenerateEvent, GenerateRequest, ModelToolCall } from 'mortise/sdk';
import {
  createTestHost,
  type TestEngine,
  type TestHost,
  type TestHostOptions,
  type TestPlugin,
} from 'mortise/sdk/testing';
import type { ClientOptions } from 'ws';
import { SocketClient } from './socket-client.js';

export type Script = (request: GenerateRequest, call: number, signal: AbortSignal) => AsyncIterable<GenerateEvent>;

export interface FakeModel {
  readonly plugin: TestPlugin;
  readonly requests: GenerateRequest[];
  readonly signals: AbortSignal[];
}

/** A model that does what the test says, in the place of the demo model. */
export function fakeModel(script: Script, { attachments = false } = {}): FakeModel {
  const facts = { capabilities: { stream: true, toolCall: true, attachments, reasoning: false } };
  const requests: GenerateRequest[] = [];
  const signals: AbortSignal[] = [];
  return {
    requests,
    signals,
    plugin: {
      manifest: { key: 'fake-model', contributes: { provider: [{ key: 'demo', facts }] } },
      definition: {
        key: 'fake-model',
        register(host) {
          host.contribute('provider', 'demo', {
            ...facts,
            generate(request, ctx) {
              requests.push({ ...request, messages: [...request.messages] });
              signals.push(ctx.signal);
              return script(request, requests.length, ctx.signal);
            },
          });
        },
      },
    },
  };
}

/** The n-th call says the n-th thing; past the end the last one again. */
export function inTurn(...answers: (() => AsyncIterable<GenerateEvent>)[]): Script {
  return (_, call) => (answers[Math.min(call, answers.length) - 1] ?? (() => says()))();
}

export async function* says(...deltas: string[]): AsyncGenerator<GenerateEvent> {
  for (const text of deltas) yield { type: 'content_delta', text };
  yield { type: 'done' };
}

export type Call = [id: string, name: string, args: string];

export async function* asksFor(calls: Call[], ...before: string[]): AsyncGenerator<GenerateEvent> {
  for (const text of before) yield { type: 'content_delta', text };
  const toolCalls: ModelToolCall[] = calls.map(([id, name, args]) => ({ id, name, arguments: args }));
  yield { type: 'tool_calls_complete', toolCalls };
  yield { type: 'done' };
}

/** Deltas with a pause before each. */
export async function* slowly(
  ms: number,
  deltas: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<GenerateEvent> {
  for (const text of deltas) {
    await sleep(ms, undefined, { signal });
    yield { type: 'content_delta', text };
  }
  yield { type: 'done' };
}

export function tool(
  name: string,
  run: (args: Readonly<Record<string, unknown>>, ctx: { readonly signal: AbortSignal }) => object | Promise<object>,
  more: { readonly timeoutSeconds?: number } = {},
): TestPlugin {
  const facts = {
    summary: 'Made by a test.',
    audience: ['agent' as const],
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    ...more,
  };
  const key = `tool-${name.replaceAll('_', '-')}`;
  return {
    manifest: { key, contributes: { tool: [{ key: name, facts }] } },
    definition: { key, register: (host) => void host.contribute('tool', name, { ...facts, run }) },
  };
}

export const echoTool = tool('echo', ({ text }) => ({ echoed: text ?? '' }));

/** A gate that decides as it is told. */
export function gatePlugin(
  decide: () => { readonly action: 'drop' | 'sink' | 'deliver'; readonly reason: string },
): TestPlugin {
  return {
    manifest: { key: 'gate', provides: ['gate'] },
    definition: {
      key: 'gate',
      register(host) {
        host.provide('gate', {
          handle(observation, { sessionKey }) {
            const { action, reason } = decide();
            const { trace_id } = observation;
            const decision = {
              action,
              reason,
              reasons: [reason],
              scene: 'dialogue',
              session_key: sessionKey,
              trace_id,
            };
            return { decision, emit: [], ingest: [] };
          },
          ingest: () => undefined,
        });
      },
    },
  };
}

export const main: SessionRef = { channel: 'ws', userId: 'local', sessionId: 'main' };

type Row = MessagePage['messages'][number];

export interface Platform {
  readonly host: TestHost;
  connect(options?: ClientOptions): Promise<SocketClient>;
  rows(session?: SessionRef): Promise<readonly Row[]>;
  /** The sessions' tables from outside, as a thief or another process would reach them. */
  readonly tables: Database;
  stop(): Promise<void>;
}

export async function openPlatform(
  engine: TestEngine,
  options: TestHostOptions & { readonly model?: FakeModel } = {},
): Promise<Platform> {
  const { model, ...rest } = options;
  const host = await createTestHost({
    plugins: ['realtime', 'agent', 'channel-console', ...(model ? [] : ['provider-demo'])],
    database: engine.env,
    ...rest,
    extra: [...(model ? [model.plugin] : []), ...(rest.extra ?? [])],
  });
  const clients: SocketClient[] = [];
  return {
    host,
    async connect(options) {
      const client = await SocketClient.open(host.origin, options);
      clients.push(client);
      return client;
    },
    tables: host.app.database.forPlugin('probe', ['realtime']),
    rows: async (session = main) => (await host.service('sessions').display({ session }, { limit: 1_000 })).messages,
    async stop() {
      for (const client of clients) client.socket.terminate();
      await host.stop();
    },
  };
}
