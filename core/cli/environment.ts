import type { OfflineControl } from '../app/offline.js';
import type { ServerAddress } from '../app/project-files.js';
import type { OfflineRun } from '../app/run-offline.js';
import type { CommandCaller } from '../sdk/points/command.js';
import { printableJson, printableText } from '../sdk/text.js';
import type { CallingProcess } from './calling-process.js';
import { type Client, createClient } from './client.js';
import type { GlobalOptions } from './global-options.js';
import { noServer } from './output.js';
import { type Locale, translated } from './translated.js';

/** The environment of every command: the project, the server, and the output. */
export interface CommandEnvironment {
  readonly process: CallingProcess;
  readonly source: OfflineRun['source'];
  readonly json: boolean;
  /** Options to run a command without a server. @param quiet see {@link OfflineRun} */
  offline(quiet: boolean): OfflineRun;
  /** The running server; undefined without one. */
  server(): Promise<Client | undefined>;
  /** The address at which no server answered; undefined if one did. */
  silentServer(): Promise<string | undefined>;
  /** @throws MortiseError `no_server` */
  needServer(): Promise<Client>;
  /** The server's API for a command in this process. */
  caller(): Promise<Omit<CommandCaller, 'command'>>;
  /** Queries the running server or, without one, the files. */
  either<T>(online: (server: Client) => Promise<T>, offline: (engine: OfflineControl) => Promise<T> | T): Promise<T>;
  /** Queries only the files, regardless of server and database. */
  fromFiles<T>(read: (engine: OfflineControl) => Promise<T> | T): Promise<T>;
  /** Prints the text, or the data with `--json`. */
  print(text: string, data: unknown): void;
  /** Ends with this code once the command is done. */
  exitWith(code: number): void;
}

interface EnvironmentDeps {
  readonly source: OfflineRun['source'];
  /** The settings of the project. */
  readonly configured: Promise<ServerAddress>;
  readonly locale: Locale;
  readonly process: CallingProcess;
  options(): GlobalOptions;
}

/** The server, or the address at which none answered. */
interface Found {
  /** A server that answers. */
  readonly running?: Client;
  /** The same, if it can be administered. */
  readonly client?: Client;
  readonly silent?: string;
}

interface Address {
  readonly base: string;
  readonly apiKey: string | undefined;
  readonly client: Client;
}

/** Options take precedence over the environment, which takes precedence over the settings of the project. */
export function createEnvironment({
  source,
  configured,
  locale,
  process,
  options,
}: EnvironmentDeps): CommandEnvironment {
  const { env, signal } = process;
  let found: Promise<Found> | undefined;
  let known: Promise<Address> | undefined;
  let knownFor: string | undefined;
  // The options are final only once every command is known.
  const checkOptions = (): void => {
    const { apiBase, apiKey, adminKey } = options();
    const given = JSON.stringify([apiBase, apiKey, adminKey]);
    if (given === knownFor) return;
    knownFor = given;
    known = undefined;
    found = undefined;
  };
  const readAddress = async (): Promise<Address> => {
    const given = options();
    const own = await configured;
    const base = given.apiBase ?? env.MORTISE_API_BASE ?? own.base;
    const apiKey = given.apiKey ?? env.MORTISE_API_KEY ?? own.apiKey;
    const adminKey = given.adminKey ?? env.GOVERNANCE_ADMIN_KEY ?? own.adminKey;
    return { base, apiKey, client: createClient({ base, apiKey, adminKey, signal }) };
  };
  const address = (): Promise<Address> => {
    checkOptions();
    known ??= readAddress();
    return known;
  };
  const connect = async (): Promise<Found> => {
    const { base, client } = await address();
    if (!(await client.alive())) return { silent: new URL(base).origin };
    // A running server without its admin API is only queried for its state: plugins are then toggled in the file.
    return { running: client, ...((await client.administers()) ? { client } : { silent: new URL(base).origin }) };
  };
  const useOffline = async <T>(use: (engine: OfflineControl) => Promise<T> | T, filesOnly: boolean): Promise<T> => {
    // The whole engine is only loaded when there is no server.
    const { openOffline } = await import('../app/offline.js');
    const engine = await openOffline(source, { filesOnly });
    try {
      return await use(engine);
    } finally {
      await engine.dispose();
    }
  };
  const find = (): Promise<Found> => {
    checkOptions();
    found ??= connect();
    return found;
  };
  const server = async (): Promise<Client | undefined> => (await find()).client;
  return {
    process,
    source,
    offline: (quiet) => ({ source, signal, quiet, ...(process.logTo ? { logTo: process.logTo } : {}) }),
    get json() {
      return options().json === true;
    },
    server,
    silentServer: async () => (await find()).silent,
    needServer: async () => {
      const { running, silent } = await find();
      if (!running) throw noServer(silent);
      return running;
    },
    caller: async () => {
      const { base, apiKey, client } = await address();
      const { stdin, stdout } = process;
      const { request, stream } = client;
      const apiBase = base.replace(/\/$/, '');
      return { apiBase, apiKey, request, stream, signal, stdin, stdout, env: { ...env, MORTISE_LOCALE: locale } };
    },
    either: async (online, offline) => {
      const client = await server();
      return client ? online(client) : useOffline(offline, false);
    },
    fromFiles: (read) => useOffline(read, true),
    print: (text, data) => {
      const output = options().json ? printableJson(data) : printableText(text);
      // Programs that read lines must not get an empty one.
      if (output !== '') process.stdout.write(`${output}\n`);
    },
    exitWith: process.exitWith,
  };
}

/**
 * Prints the state of the server or, without one, of the files: then with a note on stderr, and with
 * `offline: true` and the address that did not answer in the data.
 */
export async function printAnswer(environment: CommandEnvironment, text: string, data: object): Promise<void> {
  const silent = await environment.silentServer();
  if (silent === undefined) return environment.print(text, data);
  environment.print(text, { ...data, offline: true, server: silent });
  if (environment.json) return;
  environment.process.stderr.write(
    `${translated('No Mortise server answered at {address}: this is the state in the files.', { address: silent })}\n  ${translated(
      'If one runs elsewhere, set its address with --api-base or MORTISE_API_BASE. Its plugin admin must be active.',
    )}\n`,
  );
}
