import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { type GuardedFetch, isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import type { McpDefinition } from './definition.js';

export type ServerConfig = Config['servers'][string];

/** A connection to a server. */
export interface McpConnection {
  /** Asks for the list again, whatever was cached. */
  list(signal: AbortSignal): Promise<readonly McpDefinition[]>;
  call(tool: string, args: JsonObject, timeoutMs: number, signal: AbortSignal): Promise<McpResult>;
  close(): Promise<void>;
}

export interface McpResult {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: unknown;
}

export interface ConnectOptions {
  readonly fetch: GuardedFetch;
  /** Folder that programs start in. */
  readonly cwd: string;
  readonly version: string;
  /** Aborted when the last caller has left. */
  readonly signal: AbortSignal;
  /** The list of tools has changed. */
  readonly changed: () => void;
  /** The connection is gone. */
  readonly closed: () => void;
}

const connectMs = 30_000;

/** The only place that speaks MCP. @throws when the server cannot be reached */
export async function connect(server: ServerConfig, options: ConnectOptions): Promise<McpConnection> {
  const { version, changed, closed } = options;
  const client = new Client(
    { name: 'mortise', version },
    {
      // A server on stdio would be started once more only to ask for its revision.
      ...(server.url === undefined ? {} : { versionNegotiation: { mode: 'auto' as const } }),
      listChanged: { tools: { onChanged: () => changed(), autoRefresh: false } },
    },
  );
  client.onclose = closed;
  // Errors of single requests reach their callers; others end the connection.
  client.onerror = () => undefined;
  try {
    await client.connect(transportOf(server, options), { timeout: connectMs, signal: options.signal });
  } catch (error) {
    await client.close().catch(() => undefined);
    throw error;
  }
  return {
    async list(signal) {
      const { tools } = await client.listTools(undefined, { cacheMode: 'refresh', signal, timeout: connectMs });
      return tools.map(({ name, title, description, inputSchema, annotations }) => ({
        name,
        title,
        description,
        inputSchema: inputSchema as JsonObject,
        annotations: annotations as JsonObject | undefined,
      }));
    },
    async call(name, args, timeout, signal) {
      const result = await client.callTool({ name, arguments: { ...args } }, { timeout, signal });
      const text = result.content.map(textOf).join('\n');
      return { text, isError: result.isError === true, structured: result.structuredContent };
    },
    close: () => client.close(),
  };
}

function transportOf({ url, headers, command = '', args = [], env = {} }: ServerConfig, options: ConnectOptions) {
  if (url === undefined) {
    return new StdioClientTransport({
      command,
      args: [...args],
      env: { ...getDefaultEnvironment(), ...env },
      cwd: options.cwd,
      stderr: 'ignore',
    });
  }
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: async (address, init) => bounded(await options.fetch(address, init)),
    requestInit: { headers: { ...headers }, redirect: 'error' },
  });
}

/** Bytes of one message of a server. The client reads it whole, and twice. */
const maxMessageBytes = 16 * 1_048_576;

/** An answer whose messages are no larger than {@link maxMessageBytes}: the events of a stream, or one body. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  let length = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const lineEnd = isStream ? chunk.lastIndexOf(10) : -1;
      length = lineEnd < 0 ? length + chunk.length : chunk.length - lineEnd - 1;
      if (length <= maxMessageBytes) controller.enqueue(chunk);
      else
        controller.error(
          new MortiseError('tool_invoke_failed', 'the answer of the MCP server is larger than 16 MiB', {
            status: 502,
          }),
        );
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}

/** What a model can read of a part of a result; of media only what they are. */
function textOf(part: unknown): string {
  if (!isJsonObject(part)) return '';
  if (part.type === 'text') return String(part.text ?? '');
  const { resource } = part;
  if (isJsonObject(resource) && typeof resource.text === 'string') return resource.text;
  const kind = String(part.mimeType ?? (isJsonObject(resource) ? resource.mimeType : undefined) ?? 'unknown type');
  return part.type === 'resource_link' ? `[link ${String(part.uri)}]` : `[${String(part.type)}, ${kind}]`;
}
