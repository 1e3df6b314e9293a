import type { OfflineControl } from '../app/offline-control.js';
import { serverAddress } from '../app/server-address.js';
import { type Client, createClient } from './client.js';
import { noServer } from './command-error.js';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly apiBase?: string;
  readonly apiKey?: string;
  readonly adminKey?: string;
}

/** What every command gets: the project, the server, and one way to answer. */
export interface CommandEnvironment {
  readonly projectDir: string;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly json: boolean;
  /** The running server; undefined without one. */
  server(): Promise<Client | undefined>;
  /** @throws MortiseError `no_server` */
  needServer(): Promise<Client>;
  /** Asks the running server; without one, answers from the files. */
  either<T>(online: (server: Client) => Promise<T>, offline: (engine: OfflineControl) => Promise<T> | T): Promise<T>;
  /** Prints the text for people, or the data with `--json`. */
  print(text: string, data: unknown): void;
  /** Ends with this code once the command is done. */
  exitWith(code: number): void;
}

export interface EnvironmentPorts {
  readonly projectDir: string;
  readonly signal: AbortSignal;
  options(): GlobalOptions;
  exitWith(code: number): void;
}

/** The options win over the environment, and that over the settings of the project. */
export function createEnvironment({ projectDir, signal, options, exitWith }: EnvironmentPorts): CommandEnvironment {
  let found: Promise<Client | undefined> | undefined;

  const connect = async (): Promise<Client | undefined> => {
    const given = options();
    const { env } = process;
    const configured = await serverAddress(projectDir);
    const client = createClient({
      base: given.apiBase ?? env.MORTISE_API_BASE ?? configured.base,
      apiKey: given.apiKey ?? env.MORTISE_API_KEY ?? configured.apiKey,
      adminKey: given.adminKey ?? env.GOVERNANCE_ADMIN_KEY ?? configured.adminKey,
      signal,
    });
    return (await client.alive()) ? client : undefined;
  };
  const server = (): Promise<Client | undefined> => {
    found ??= connect();
    return found;
  };
  return {
    projectDir,
    signal,
    get json() {
      return options().json === true;
    },
    server,
    needServer: async () => {
      const client = await server();
      if (!client) throw noServer();
      return client;
    },
    either: async (online, offline) => {
      const client = await server();
      if (client) return online(client);
      // The whole engine is only loaded where there is no server to ask.
      const { openOffline } = await import('../app/offline-control.js');
      const engine = await openOffline(projectDir);
      try {
        return await offline(engine);
      } finally {
        await engine.dispose();
      }
    },
    print: (text, data) => void process.stdout.write(`${options().json ? JSON.stringify(data) : text}\n`),
    exitWith,
  };
}
