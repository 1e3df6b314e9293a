import { type Disposable, isCodedError, type Logger, MortiseError, type Tool } from 'mortise/sdk';
import type { McpConnection, ServerConfig } from './connect.js';
import { factsOf, hashOf, keyOf, type McpDefinition } from './definition.js';
import type { Pins } from './pins.js';

export interface ServerDeps {
  readonly pins: Pick<Pins, 'offer'>;
  readonly connect: (
    server: ServerConfig,
    hooks: { readonly changed: () => void; readonly closed: () => void },
  ) => Promise<McpConnection>;
  readonly contribute: (key: string, tool: Tool) => Disposable;
  /** A tool differs from what was accepted. */
  readonly alert: (server: string, tool: string) => void;
  readonly log: Logger;
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal;
}

type ServerState = 'connecting' | 'connected' | 'unreachable';

const firstRetryMs = 1_000;
const maxRetryMs = 60_000;
/** A server that answers over HTTP is asked this often whether it is still there. */
const checkMs = 30_000;

interface Offered {
  readonly hash: string;
  readonly contribution: Disposable;
}

/** One server: connects again and again, and keeps its tools contributed while it answers. */
export class ServerTools {
  readonly name: string;
  state: ServerState = 'connecting';
  /** Why it is unreachable, without texts of the server. */
  reason: string | undefined;
  readonly #config: ServerConfig;
  readonly #deps: ServerDeps;
  readonly #offered = new Map<string, Offered>();
  readonly #alerted = new Set<string>();
  #connection: McpConnection | undefined;
  #retryMs = firstRetryMs;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(name: string, config: ServerConfig, deps: ServerDeps) {
    this.name = name;
    this.#config = config;
    this.#deps = deps;
  }

  /** Connects, or asks for the list again. Runs of one server do not overlap. */
  refresh(): Promise<void> {
    this.#work = this.#work.then(() => this.#refresh()).catch(() => undefined);
    return this.#work;
  }

  /** Keys of the tools that are contributed now. */
  get keys(): readonly string[] {
    return [...this.#offered.keys()];
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#work;
    await this.#disconnect();
  }

  async #refresh(): Promise<void> {
    const { signal, log } = this.#deps;
    clearTimeout(this.#timer);
    if (signal.aborted) return;
    try {
      this.#connection ??= await this.#connect();
      await this.#offer(await this.#connection.list(signal));
      if (this.state !== 'connected')
        log.info({ server: this.name, tools: this.#offered.size }, 'connected to an MCP server');
      this.state = 'connected';
      this.reason = undefined;
      this.#retryMs = firstRetryMs;
      this.#later(checkMs);
    } catch (error) {
      if (signal.aborted) return;
      this.reason = reasonOf(error);
      if (this.state !== 'unreachable') {
        const kind = error instanceof Error ? error.name : typeof error;
        log.warn({ code: 'mcp_server_unreachable', server: this.name, error: kind }, 'an MCP server does not answer');
      }
      this.state = 'unreachable';
      await this.#disconnect();
      this.#later(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
    }
  }

  async #connect(): Promise<McpConnection> {
    const again = () => void this.refresh();
    // A program that ends at once closes its connection before there is one.
    let connection: McpConnection | undefined;
    connection = await this.#deps.connect(this.#config, {
      changed: again,
      closed: () => {
        if (!connection || this.#connection !== connection) return;
        this.#connection = undefined;
        this.state = 'unreachable';
        this.reason = 'it closed the connection';
        this.#withdrawAll();
        this.#later(firstRetryMs);
      },
    });
    return connection;
  }

  /** Contributes what is new, withdraws what is gone, and replaces what changed and was accepted. */
  async #offer(definitions: readonly McpDefinition[]): Promise<void> {
    const changed = await this.#deps.pins.offer(this.name, definitions);
    const accepted = new Map<string, McpDefinition>();
    for (const definition of definitions) {
      const { name } = definition;
      const key = keyOf(this.name, name);
      if (!changed.has(name)) this.#alerted.delete(name);
      else if (!this.#alerted.has(name)) {
        this.#alerted.add(name);
        this.#deps.alert(this.name, name);
      }
      // Of two names with the same key the first one is offered.
      if (key === undefined || changed.has(name) || accepted.has(key)) continue;
      accepted.set(key, definition);
    }
    for (const [key, { hash }] of this.#offered) {
      const definition = accepted.get(key);
      if (!definition || hashOf(definition) !== hash) this.#withdraw(key);
    }
    for (const [key, definition] of accepted) {
      if (this.#offered.has(key)) continue;
      const contribution = this.#deps.contribute(key, this.#tool(definition));
      this.#offered.set(key, { hash: hashOf(definition), contribution });
    }
  }

  #tool(definition: McpDefinition): Tool {
    const { name } = definition;
    const seconds = this.#config.timeout_seconds ?? 60;
    return {
      ...factsOf(this.name, definition),
      timeoutSeconds: seconds,
      run: async (args, { signal }) => {
        const connection = this.#connection;
        if (!connection) throw this.#unavailable();
        const result = await connection.call(name, args, seconds * 1_000, signal).catch((cause: unknown) => {
          signal.throwIfAborted();
          if (isCodedError(cause)) throw cause;
          // Whether the server is still there decides if its tools are.
          void this.refresh();
          throw this.#unavailable(cause);
        });
        if (result.isError) throw new MortiseError('tool_invoke_failed', result.text.slice(0, 4_000), { status: 502 });
        const { text, structured } = result;
        return { ok: true, text, ...(structured === undefined ? {} : { structured }) };
      },
    };
  }

  #unavailable(cause?: unknown): MortiseError {
    const message = `the MCP server ${this.name} did not answer the call`;
    return new MortiseError('tool_runtime_unavailable', message, { status: 502, cause });
  }

  #withdraw(key: string): void {
    void this.#offered.get(key)?.contribution.dispose();
    this.#offered.delete(key);
  }

  #withdrawAll(): void {
    for (const key of this.keys) this.#withdraw(key);
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#withdrawAll();
    await connection?.close().catch(() => undefined);
  }

  #later(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (this.#deps.signal.aborted) return;
    this.#timer = setTimeout(() => void this.refresh(), milliseconds);
    this.#timer.unref();
  }
}

/** The code of the system or of the protocol, or the kind of the error: its text may hold secrets. */
function reasonOf(error: unknown): string {
  const { code, cause, name } = error as { readonly code?: unknown; readonly cause?: unknown; readonly name?: string };
  if (typeof code === 'string' || typeof code === 'number') return String(code);
  return cause instanceof Error ? reasonOf(cause) : (name ?? 'it failed');
}
