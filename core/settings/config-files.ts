import { join, resolve } from 'node:path';
import { allowedBy, type JsonSchema, type SchemaCompiler } from '../schema/index.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { type Alert, type Disposable, type Finding, MortiseError } from '../sdk/index.js';
import { concealSecret } from '../sdk/mask.js';
import { convertVariable } from './convert.js';
import { type Environment, readsAny, SecretVariables, shownPath } from './environment.js';
import { OwnedFile } from './owned-file.js';
import { problemOf, shownValue } from './problems.js';
import { readSchemaFacts, type SchemaFacts } from './schema-facts.js';
import type { SecretStore } from './secrets.js';
import type { AlsoWatched, ConfigIssue, FileWrite } from './types.js';

interface ConfigFilesOptions {
  readonly environment: Environment;
  readonly secrets: SecretStore;
  readonly configDir: string;
  readonly projectDir: string;
  readonly cwd: string;
  readonly now: () => number;
}

interface Watched {
  readonly file: OwnedFile;
  readonly facts: SchemaFacts;
  /** Polling interval in milliseconds; undefined = the host's interval. */
  readonly pollMs: number | undefined;
}

/** The owner of `config/mortise.json`. */
export const hostOwner = 'host';

const pollSchema: JsonSchema = { type: 'integer', minimum: 0, maximum: 86_400_000 };

/** All configuration files of a process, by owner, with the alerts, findings and secrets they report. */
export class ConfigFiles {
  readonly options: ConfigFilesOptions;
  readonly watched = new Map<string, Watched>();
  readonly others = new Set<AlsoWatched>();
  readonly #secretVariables = new SecretVariables(hostOwner);
  readonly #alertListeners = new Set<(alert: Alert) => void>();
  readonly #secretListeners = new Set<(value: string) => void>();
  readonly #writeListeners = new Set<(write: FileWrite) => void>();
  /** Each with the registration that masks it in all texts. */
  readonly #secretValues = new Map<string, Disposable>();
  #waiting: Alert[] = [];
  #secretsAlerted: string | undefined;

  constructor(options: ConfigFilesOptions) {
    this.options = options;
    this.reveal(options.secrets.values());
    this.#reportSecrets();
  }

  /** Loads a file and watches it. */
  async open(owner: string, schema: JsonSchema, compiler: SchemaCompiler, path?: string): Promise<OwnedFile> {
    this.watched.get(owner)?.file.dispose();
    const { environment, configDir, projectDir, cwd, now, secrets } = this.options;
    const facts = readSchemaFacts(schema);
    await this.#learnSecrets(owner, facts);
    const named = facts.fileEnv.map((name) => environment.read(name)).find((variable) => variable !== undefined);
    const place = path ?? (named === undefined ? join(configDir, `${owner}.json`) : resolve(cwd, named.value));
    const file = new OwnedFile({
      owner,
      path: place,
      fileName: shownPath(projectDir, place),
      facts,
      compiled: compiler.compile<Record<string, unknown>>(schema, {
        name: `the configuration schema of ${owner}`,
        use: 'parse',
      }),
      environment,
      secretVariables: this.#secretVariables.of(owner),
      now,
      secrets,
      raise: (alert) => this.raise(alert),
      reveal: (values) => this.reveal(values),
      wrote: (write) => this.wrote(write),
    });
    const poll = this.#pollOf(facts);
    this.watched.set(owner, { file, facts, pollMs: poll.ms });
    await file.look();
    if (poll.issue !== undefined) {
      const problem = problemOf([poll.issue], null, now());
      // An owner that falls back to defaults also does so when the poll interval of its file is not valid.
      if (facts.lenientFile) file.warn(problem);
      else file.block(problem);
    }
    return file;
  }

  /** Whether a variable is read into the configuration of any owner known now. */
  isSetting(name: string): boolean {
    const variables = new Set([name]);
    return [...this.watched.values()].some(({ facts }) => readsAny(facts, variables));
  }

  async #learnSecrets(owner: string, facts: SchemaFacts): Promise<void> {
    const refused = owner === hostOwner ? undefined : this.#secretVariables.refusedTo(facts);
    if (refused !== undefined) throw new MortiseError('invalid_schema', `it reads ${refused}, which holds a secret`);
    const found = this.#secretVariables.learn(owner, facts);
    // Texts reported so far may contain them.
    for (const other of [...this.watched.values()])
      if (readsAny(other.facts, found)) await other.file.look({ recompute: true });
  }

  #pollOf(facts: SchemaFacts): { readonly ms?: number; readonly issue?: ConfigIssue } {
    const variable = facts.pollEnv
      .map((name) => this.options.environment.read(name))
      .find((found) => found !== undefined);
    if (variable === undefined) return {};
    const converted = convertVariable(variable.value, pollSchema);
    const ms = converted.ok ? converted.value : undefined;
    if (typeof ms === 'number' && Number.isInteger(ms) && ms >= 0 && ms <= 86_400_000) return { ms };
    const shown = shownValue(variable.value, false);
    const message = `must be ${allowedBy(pollSchema)}`;
    return { issue: { path: '', place: '', keyword: 'type', message, params: {}, origin: variable.name, shown } };
  }

  reveal(values: readonly string[]): void {
    for (const value of values) {
      if (value === '' || this.#secretValues.has(value)) continue;
      this.#secretValues.set(value, concealSecret(value));
      for (const listener of this.#secretListeners) listener(value);
    }
  }

  raise(alert: Alert): void {
    if (this.#alertListeners.size === 0) this.#waiting.push(alert);
    for (const listener of this.#alertListeners) listener(alert);
  }

  onAlert(run: (alert: Alert) => void): Disposable {
    this.#alertListeners.add(run);
    const early = this.#waiting;
    this.#waiting = [];
    for (const alert of early) run(alert);
    return { dispose: () => void this.#alertListeners.delete(run) };
  }

  onSecret(run: (value: string) => void): Disposable {
    this.#secretListeners.add(run);
    return { dispose: () => void this.#secretListeners.delete(run) };
  }

  wrote(write: FileWrite): void {
    for (const listener of this.#writeListeners) listener(write);
  }

  onWrite(run: (write: FileWrite) => void): Disposable {
    this.#writeListeners.add(run);
    return { dispose: () => void this.#writeListeners.delete(run) };
  }

  secrets(): readonly string[] {
    return [...this.#secretValues.keys()];
  }

  /** Stops watching an owner's file, unless it has been replaced by another. */
  forget(file: OwnedFile): void {
    if (this.watched.get(file.owner)?.file === file) this.watched.delete(file.owner);
  }

  dispose(): void {
    for (const { file } of [...this.watched.values()]) file.dispose();
    for (const concealed of this.#secretValues.values()) concealed.dispose();
    this.#secretValues.clear();
    this.watched.clear();
    this.others.clear();
    this.#alertListeners.clear();
    this.#secretListeners.clear();
    this.#writeListeners.clear();
  }

  #reportSecrets(): void {
    const { problem } = this.options.secrets;
    if (problem !== null && problem.message !== this.#secretsAlerted) {
      this.raise({ source: 'settings:secrets', severity: 'high', code: problem.code, message: problem.message });
    }
    this.#secretsAlerted = problem?.message;
  }

  async #pollSecrets(): Promise<void> {
    if (!(await this.options.secrets.poll(false))) return;
    this.reveal(this.options.secrets.values());
    this.#reportSecrets();
    for (const { file } of this.watched.values()) await file.look({ recompute: true });
  }

  /** Checks the files whose polling interval `only` selects; undefined is the host's interval. */
  async poll(only: (pollMs: number | undefined) => boolean): Promise<void> {
    const due = [...this.watched.values()].filter(({ pollMs }) => only(pollMs)).map(({ file }) => file.look());
    await Promise.all(due);
    if (!only(undefined)) return;
    await this.#pollSecrets();
    for (const other of this.others) await other.poll();
  }

  effective(owner?: string): readonly EffectiveValue[] {
    return [...this.watched]
      .filter(([key]) => owner === undefined || owner === key)
      .sort(([a], [b]) => (a === 'host' ? -1 : b === 'host' ? 1 : a < b ? -1 : 1))
      .flatMap(([, { file }]) => file.effective());
  }

  findings(): readonly Finding[] {
    const found: Finding[] = [];
    for (const [owner, { file }] of this.watched) {
      if (file.problem !== null) {
        found.push({
          severity: 'error',
          ...(owner === 'host' ? {} : { key: owner }),
          code: file.problem.code,
          message: file.problem.message,
          fix:
            file.snapshot === undefined
              ? 'Correct it; it is read again automatically.'
              : 'Correct it; until then the last good configuration stays in force.',
        });
      }
      if (file.gone) {
        found.push({
          severity: 'info',
          ...(owner === 'host' ? {} : { key: owner }),
          code: 'config_file_gone',
          message: `${file.shown} does not exist any more; the last good configuration stays in force until the next start.`,
          fix: 'Write it again, or restart for the defaults.',
        });
      }
      for (const warning of file.warnings)
        found.push({ severity: 'warning', code: 'setting_set_aside', message: warning });
    }
    const host = this.watched.get('host')?.file.snapshot;
    if (host !== undefined && host.revision > 1) {
      const message = 'config/mortise.json has changed since the start; host settings are read once.';
      found.push({ severity: 'info', code: 'restart_needed', message, fix: 'Restart to use the new values.' });
    }
    const { problem } = this.options.secrets;
    if (problem !== null) {
      const fix = problem.hint === undefined ? {} : { fix: problem.hint };
      found.push({ severity: 'error', code: problem.code, message: problem.message, ...fix });
    }
    for (const other of this.others) found.push(...other.findings());
    return found;
  }
}
