import { dirname, join } from 'node:path';
import { createSchemaCompiler, type JsonSchema } from '../schema/index.js';
import type { GuardedPaths } from '../sdk/host/settings.js';
import type { SettingsService } from '../sdk/index.js';
import type { ConfigFiles } from './config-files.js';
import { secretsFor } from './secrets.js';
import type { HostSettings, OwnedConfig, Settings } from './types.js';

interface Poll {
  readonly key: string;
  /** Milliseconds; 0 = never. */
  readonly everyMs: number;
  run(): Promise<unknown>;
}

const shortest = 20;
const longest = 1_000;

/** Runs several polls at their own intervals on one timer that does not keep the process alive. */
class Poller {
  readonly #now: () => number;
  readonly #due = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `polls` is called at each step, because intervals change. */
  start(polls: () => readonly Poll[]): void {
    if (this.#timer !== undefined || this.#stopped) return;
    const wait = (): void => {
      const intervals = polls()
        .map((poll) => poll.everyMs)
        .filter((ms) => ms > 0);
      this.#timer = setTimeout(step, Math.max(shortest, Math.min(longest, ...intervals)));
      this.#timer.unref();
    };
    const step = (): void => {
      this.#running = this.#runDue(polls()).finally(() => {
        if (!this.#stopped) wait();
      });
    };
    wait();
  }

  async #runDue(polls: readonly Poll[]): Promise<void> {
    const now = this.#now();
    for (const poll of polls) {
      if (poll.everyMs <= 0 || now < (this.#due.get(poll.key) ?? 0)) continue;
      this.#due.set(poll.key, now + poll.everyMs - shortest);
      // One file that cannot be read must not stop the others from being watched.
      await poll.run().catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/** Paths that file tools must not read or write: a model must not read the platform's data or change its code. */
function guardedPaths(host: HostSettings, envFile: string, secretsFile: string): GuardedPaths {
  const database = host.database.dialect === 'sqlite' ? [host.database.file] : [];
  return Object.freeze({
    hidden: [host.dataDir, ...database, envFile, host.configDir, secretsFile],
    readOnly: [
      host.pluginsFile,
      host.shippedPluginsDir,
      host.pluginsDir,
      join(host.projectDir, 'dist'),
      join(host.projectDir, '.runtime'),
      join(host.projectDir, 'node_modules'),
      join(dirname(host.shippedPluginsDir), 'core'),
      join(host.projectDir, 'schemas'),
    ],
  });
}

/** The interface of the configuration files to the rest of the process. */
export function createSettings(files: ConfigFiles, host: HostSettings): Settings {
  const { environment, secrets, now } = files.options;
  const poller = new Poller(now);

  /** Files with the same interval are checked together. */
  function polls(): readonly Poll[] {
    const intervals = new Set([undefined, ...[...files.watched.values()].map(({ pollMs }) => pollMs)]);
    return [...intervals].map((pollMs) => ({
      key: pollMs === undefined ? 'host' : `${pollMs}`,
      everyMs: pollMs ?? host.pollMs,
      run: () => files.poll((own) => own === pollMs),
    }));
  }

  function serviceFor(owner: string): SettingsService {
    return {
      projectKey: host.projectKey,
      dataDir: host.dataDir,
      workspaceDir: host.workspaceDir,
      version: host.version,
      guardedPaths: guardedPaths(host, environment.file, secrets.file),
      effective: (of) => files.effective(of),
      configStatus: () => files.watched.get(owner)?.file.status(),
      async reload() {
        const file = files.watched.get(owner)?.file;
        if (file === undefined) return { changed: false, revision: 0, error: null };
        const { changed, revision, problem } = await file.reload();
        return { changed, revision, error: problem?.message ?? null };
      },
    };
  }

  return {
    host,
    warnings: files.watched.get('host')?.file.warnings ?? [],
    async own<C extends object>(owner: string, schema: JsonSchema): Promise<OwnedConfig<C>> {
      const file = await files.open(owner, schema, createSchemaCompiler());
      return file.as<C>(() => files.forget(file));
    },
    effective: (owner) => files.effective(owner),
    variable: (name) => environment.read(name)?.value,
    serviceFor,
    secretsFor: (names) =>
      secretsFor(
        {
          store: secrets,
          seen: (value) => files.reveal([value]),
          key: host.secretKey,
          isSetting: (name) => files.isSetting(name),
        },
        names,
      ),
    onAlert: (run) => files.onAlert(run),
    raise: (alert) => files.raise(alert),
    findings: () => files.findings(),
    secrets: () => files.secrets(),
    onSecret: (run) => files.onSecret(run),
    onWrite: (run) => files.onWrite(run),
    wrote: (write) => files.wrote(write),
    also(watched) {
      files.others.add(watched);
      return { dispose: () => void files.others.delete(watched) };
    },
    watch: () => poller.start(polls),
    poll: () => files.poll(() => true),
    async dispose() {
      await poller.stop();
      files.dispose();
    },
  };
}
