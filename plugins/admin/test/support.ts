import type { PluginDefinition, PluginRow } from 'mortise/sdk';
import type { TestHost, TestPlugin } from 'mortise/sdk/testing';

/** A plugin that does what its definition says, and nothing without one. */
export function made(
  key: string,
  {
    manifest = {},
    ...definition
  }: Partial<Omit<PluginDefinition, 'key'>> & { manifest?: Partial<TestPlugin['manifest']> } = {},
): TestPlugin {
  return { manifest: { key, ...manifest }, definition: { key, register() {}, ...definition } };
}

interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

/** The error body of the admin routes. */
export interface Refused {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly details?: unknown;
    readonly hint?: string;
  };
}

type Server = Pick<TestHost, 'fetch'>;
type Headers = Readonly<Record<string, string>>;

export async function get<T>(server: Server, path: string, headers: Headers = {}): Promise<Answer<T>> {
  const response = await server.fetch(path, { headers });
  return { status: response.status, body: (await response.json()) as T };
}

export async function send<T = PluginRow>(
  server: Server,
  path: string,
  body: unknown = {},
  options: { readonly method?: string; readonly headers?: Headers } = {},
): Promise<Answer<T>> {
  const { method = 'POST', headers = {} } = options;
  const response = await server.fetch(path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as T };
}

export async function rows(server: Server, headers: Headers = {}): Promise<readonly PluginRow[]> {
  return (await get<{ plugins: readonly PluginRow[] }>(server, '/admin/plugins', headers)).body.plugins;
}

export async function rowOf(server: Server, key: string): Promise<PluginRow | undefined> {
  return (await rows(server)).find((row) => row.key === key);
}

/** The error's code, for refusals. */
export const codeOf = (answer: Answer<unknown>): string => (answer.body as Refused).error.code;
