import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../sdk/context.js';

/** Whether the work succeeds in time. Late work is not cancelled. */
export async function answersWithin(timeoutMs: number, work: () => Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const answered = work().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([answered, delay(timeoutMs, false, { signal: limit.signal, ref: false })]);
  } finally {
    limit.abort();
  }
}

/** The properties of an open connection that show whether it still answers. */
export interface AnsweringConnection {
  /** The server's process behind it. */
  readonly processID: number | null;
  /** False while an answer is outstanding. */
  readonly readyForQuery: boolean;
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(error: Error): void } };
  once(event: 'end', run: () => void): unknown;
}

/** What the server is doing for each of its processes, as reported on a new connection; undefined when it does not answer. */
export type AskServer = () => Promise<ReadonlyMap<number, string | null> | undefined>;

/** The server or the network accepted data and never answered. */
class ServerSilent extends Error {
  /** Errno of a connection that timed out, so that the error is classified as such. */
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the server takes what is sent and does not answer');
    this.name = 'ServerSilent';
  }
}

interface Heard {
  /** Bytes received at the last check. */
  bytes: number;
  /** Monotonic time since which an answer is pending without any data. */
  quietSince: number;
  /** The server reported this connection as idle: what was sent has not arrived. */
  isForgotten: boolean;
}

/** How often a connection is checked within its limit. */
const LOOKS = 5;

/**
 * Cuts connections that will never answer. TCP keeps a connection to a stopped server alive while its kernel runs, and a
 * statement may take long; so when a connection is silent for the limit, the server is probed on a new connection, and
 * the old one is cut if the probe gets no answer, or reports it as idle.
 */
export class SilenceWatch {
  readonly #limitMs: number;
  readonly #ask: AskServer;
  readonly #log: Logger;
  readonly #heard = new Map<AnsweringConnection, Heard>();
  readonly #looking: NodeJS.Timeout;
  #asking = false;

  constructor(limitMs: number, ask: AskServer, log: Logger) {
    this.#limitMs = limitMs;
    this.#ask = ask;
    this.#log = log;
    this.#looking = setInterval(() => void this.#look(), limitMs / LOOKS).unref();
  }

  watch(connection: AnsweringConnection): void {
    const bytes = connection.connection.stream.bytesRead;
    this.#heard.set(connection, { bytes, quietSince: performance.now(), isForgotten: false });
    connection.once('end', () => this.#heard.delete(connection));
  }

  dispose(): void {
    clearInterval(this.#looking);
  }

  async #look(): Promise<void> {
    const now = performance.now();
    for (const [connection, heard] of this.#heard) {
      const { bytesRead } = connection.connection.stream;
      if (!connection.readyForQuery && bytesRead === heard.bytes) continue;
      Object.assign(heard, { bytes: bytesRead, quietSince: now, isForgotten: false });
    }
    const isQuiet = ({ quietSince }: Heard): boolean => now - quietSince >= this.#limitMs;
    if (this.#asking || ![...this.#heard.values()].some(isQuiet)) return;
    this.#asking = true;
    const before = new Map([...this.#heard].map(([connection, { bytes }]) => [connection, bytes]));
    const known = await this.#ask();
    this.#asking = false;
    for (const [connection, bytes] of before) {
      const heard = this.#heard.get(connection);
      if (heard === undefined || connection.connection.stream.bytesRead !== bytes) continue;
      // Idle connections of a silent server are cut too: the next user of one would wait as long again.
      if (known === undefined) this.#cut(connection);
      else if (isQuiet(heard)) this.#judge(connection, heard, known);
    }
  }

  /** The last bytes of an answer may be on the way while the server reports idle: it is queried twice. */
  #judge(connection: AnsweringConnection, heard: Heard, known: ReadonlyMap<number, string | null>): void {
    const isIdle = known.get(connection.processID ?? 0)?.startsWith('idle') === true;
    if (isIdle && heard.isForgotten) this.#cut(connection);
    heard.isForgotten = isIdle;
  }

  #cut(connection: AnsweringConnection): void {
    this.#heard.delete(connection);
    if (!connection.readyForQuery) this.#log.warn('The database does not answer; the connection was cut');
    connection.connection.stream.destroy(new ServerSilent());
  }
}
