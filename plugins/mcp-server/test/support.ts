import { type TestHost, until } from 'mortise/sdk/testing';
import type { Session } from '../sessions/session.js';
import type { Probe } from './probe-plugin.js';

export { MortiseError } from 'mortise/sdk';
export { silentLog } from 'mortise/sdk/testing';

/** The value at a path inside a JSON value; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: unknown;
}

type HeaderList = Readonly<Record<string, string>>;

/** Posts text to the endpoint unchanged. */
export async function postText(host: TestHost, body: string | Uint8Array<ArrayBuffer>, headers: HeaderList = {}) {
  const response = await fetch(`${host.origin}/mcp`, { method: 'POST', body, headers });
  return answerOf(response);
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** One bare JSON-RPC request, as curl would send it. */
export function rpc(host: TestHost, method: string, params?: object, headers: HeaderList = {}, id: unknown = 1) {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  return postText(host, body, { 'content-type': 'application/json', ...headers });
}

export function callTool(host: TestHost, name: string, args?: unknown, headers: HeaderList = {}, meta?: object) {
  return rpc(host, 'tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }, headers);
}

export const statelessVersion = '2026-07-28';

interface StatelessOptions {
  readonly capabilities?: object;
  readonly meta?: object;
  readonly headers?: HeaderList;
  readonly id?: unknown;
}

/** Headers and body of a well-formed stateless request. */
export function statelessRequest(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  options: StatelessOptions = {},
) {
  const name = params.name ?? params.uri ?? params.taskId;
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': statelessVersion,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...options.headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: options.id ?? 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': statelessVersion,
          'io.modelcontextprotocol/clientCapabilities': options.capabilities ?? {},
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          ...options.meta,
        },
      },
    }),
  };
}

export async function stateless(
  host: TestHost,
  method: string,
  params?: Readonly<Record<string, unknown>>,
  options?: StatelessOptions,
) {
  const { headers, body } = statelessRequest(method, params, options);
  return postText(host, body, headers);
}

/** Messages of an event stream as they arrive; other events are ignored, as by clients. */
async function* events(response: Response): AsyncGenerator<{ id: string | undefined; data: unknown }> {
  for await (const { id, event, data } of rawEvents(response)) {
    if (event === 'message') yield { id, data: data === '' ? undefined : JSON.parse(data) };
  }
}

/** All events of a stream that have data. */
export async function* rawEvents(
  response: Response,
): AsyncGenerator<{ readonly id: string | undefined; readonly event: string; readonly data: string }> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      const fieldOf = (field: string) =>
        lines
          .find((line) => line.startsWith(`${field}:`))
          ?.slice(field.length + 1)
          .trimStart();
      const data = fieldOf('data');
      if (data !== undefined) yield { id: fieldOf('id'), event: fieldOf('event') ?? 'message', data };
    }
  }
}

/** Opens a stream of messages; `leave` disconnects. */
export async function openEvents(host: TestHost, init: RequestInit) {
  const controller = new AbortController();
  const response = await fetch(`${host.origin}/mcp`, { ...init, signal: controller.signal });
  const iterator = events(response);
  return {
    response,
    async next(): Promise<unknown> {
      const { value, done } = await iterator.next();
      return done ? undefined : value.data;
    },
    async nextEvent() {
      const { value, done } = await iterator.next();
      return done ? undefined : value;
    },
    leave: () => controller.abort(),
  };
}

/** Starts a session and returns the headers of its later requests. */
export async function beginSession(host: TestHost, version: string, capabilities: object = {}) {
  const params = { protocolVersion: version, capabilities, clientInfo: { name: 'test', version: '1' } };
  const answer = await rpc(host, 'initialize', params);
  return {
    answer,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': answer.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': version,
    },
  };
}

/**
 * Resolves when the server has noticed all earlier disconnects: one more client calls, disconnects, and its call is
 * seen to be aborted.
 */
export async function disconnectsNoticed(host: TestHost, probe: Probe): Promise<void> {
  const begun = probe.waiting();
  const controller = new AbortController();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wait' } });
  const call = fetch(`${host.origin}/mcp`, { method: 'POST', body, signal: controller.signal }).catch(
    () => 'disconnected',
  );
  await begun;
  const before = probe.aborted.filter((name) => name === 'wait').length;
  controller.abort();
  await call;
  await until(
    'the server notices the disconnect',
    () => probe.aborted.filter((name) => name === 'wait').length > before,
  );
}

/** A session whose client can list its roots. */
export const testSession: Session = {
  id: 'mcps_a',
  principal: 'local',
  version: '2025-11-25',
  capabilities: { roots: {} },
  logLevel: undefined,
  subscriptions: [],
  expiresAt: 0,
};
