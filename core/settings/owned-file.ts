import { readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { writeAtomic } from '../files/index.js';
import { type CompiledSchema, deepFreeze, isTooDeep, maxFileDepth } from '../schema/index.js';
import { makeFolders } from '../sdk/folders.js';
import type { ConfigStatus, EffectiveValue } from '../sdk/host/settings.js';
import { type Alert, type Disposable, MortiseError } from '../sdk/index.js';
import { isJsonObject } from '../sdk/json.js';
import { serialQueue } from '../sdk/timing.js';
import { type Computed, type ComputedConfig, compute, schemaFile } from './compute.js';
import { effectiveValues } from './effective.js';
import type { Environment, SecretVariablesOf } from './environment.js';
import { applyMergePatch } from './merge-patch.js';
import { fromPointer, getAt, isAtOrBelow } from './path.js';
import { problemOf, sayUnwritten } from './problems.js';
import { propertyAt, type SchemaFacts } from './schema-facts.js';
import { keepSecrets, type SecretStore, separateSecrets, unusedSecrets } from './secrets.js';
import type { ConfigIssue, ConfigProblem, FileWrite, OwnedConfig, ReloadResult, Snapshot } from './types.js';
import { type FileContent, WatchedFile } from './watched-file.js';

type Config = Readonly<Record<string, unknown>>;

interface OwnedFileOptions {
  readonly owner: string;
  readonly path: string;
  /** For messages. */
  readonly fileName: string;
  readonly facts: SchemaFacts;
  readonly compiled: CompiledSchema<Record<string, unknown>>;
  readonly environment: Environment;
  readonly secretVariables: SecretVariablesOf;
  readonly now: () => number;
  readonly secrets: Pick<SecretStore, 'get' | 'problem' | 'write'>;
  raise(alert: Alert): void;
  /** Clear secret values, as they become known. */
  reveal(secrets: readonly string[]): void;
  /** The file was replaced by this process. */
  wrote(write: FileWrite): void;
}

const maxRemembered = 200;

/** One owner's configuration: the file, the variables that override it, and the last valid state of both. */
export class OwnedFile implements OwnedConfig {
  readonly owner: string;
  readonly file: string;
  readonly watched: WatchedFile;
  snapshot: Snapshot | undefined;
  problem: ConfigProblem | null = null;
  warnings: readonly string[] = [];
  /** The file was removed; its last good state stays in effect. */
  gone = false;
  readonly #options: OwnedFileOptions;
  readonly #listeners = new Set<(next: Snapshot, previous: Snapshot | undefined) => void>();
  readonly #alerted = new Set<string>();
  computed: ComputedConfig | undefined;
  /** The file's last good object, as written; what a recomputation starts from. */
  #good: { readonly value: Config; readonly sha256: string } | undefined;
  /** The file's current content, valid or not; undefined while it cannot be read as an object. */
  #last: { readonly value: Config | undefined; readonly sha256: string | null } | undefined;
  #blocked: ConfigProblem | undefined;
  #standing: ConfigProblem | null = null;
  #forget: () => void = () => {};
  readonly #serially = serialQueue();

  constructor(options: OwnedFileOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.file = options.path;
    this.watched = new WatchedFile(options.path, options.now);
  }

  /** Checks the file. `recompute` evaluates its last good content again, because a secret has changed. */
  async look(how: { readonly force?: boolean; readonly recompute?: boolean } = {}): Promise<ReloadResult> {
    return this.#serially(() => this.#lookNow(how));
  }

  reload(): Promise<ReloadResult> {
    return this.look({ force: true });
  }

  subscribe(run: (next: Snapshot, previous: Snapshot | undefined) => void): Disposable {
    this.#listeners.add(run);
    return {
      dispose: () => {
        this.#listeners.delete(run);
      },
    };
  }

  check(config: Config): readonly ConfigIssue[] {
    const value = this.#restored(config);
    const result = this.#computeFrom(value);
    // An invalid variable cannot be fixed by changing the file.
    const fixable = [this.#options.fileName, schemaFile];
    const issues = result.ok ? [] : result.issues.filter((issue) => fixable.includes(issue.origin));
    return [...issues, ...this.#hiddenIssues(value)];
  }

  /** Issues of values that a variable overrides, which would take effect without it. */
  #hiddenIssues(value: Config): readonly ConfigIssue[] {
    const { facts, environment } = this.#options;
    const overridden = facts.properties
      .filter(({ env, path }) => getAt(value, path) !== undefined && env.some((name) => environment.read(name)))
      .map(({ path }) => path);
    if (overridden.length === 0) return [];
    const alone = this.#computeFrom(value, { ...environment, read: () => undefined });
    if (alone.ok) return [];
    return alone.issues.filter(({ path }) => overridden.some((at) => isAtOrBelow(at, fromPointer(path))));
  }

  write(config: Config): Promise<ReloadResult> {
    return this.#serially(() => this.#writeNow(config));
  }

  patch(patch: Config): Promise<ReloadResult> {
    return this.#serially(async () => {
      await this.#lookNow({ force: true });
      if (this.#last === undefined && this.problem !== null) {
        throw new MortiseError('invalid_config', this.problem.message, {
          status: 422,
          details: { errors: this.problem.issues.map(({ path, message }) => ({ path, message })) },
          hint: 'Nothing was changed. Correct the file, or send the whole configuration with PUT.',
        });
      }
      const present = this.#last?.value ?? this.#emptyFile();
      return this.#writeNow(applyMergePatch(present, patch) as Config, present);
    });
  }

  /** @param present the object to patch: unchanged, nothing is written; a file that would be empty is removed */
  async #writeNow(config: Config, present?: Config): Promise<ReloadResult> {
    const next = this.#restored(config);
    const issues = this.check(config);
    if (issues.length > 0) {
      throw new MortiseError('invalid_config', problemOf(issues, null, this.#options.now()).message, {
        status: 422,
        details: { errors: issues.map(({ path, message }) => ({ path, message })) },
        hint: `Nothing was changed. Correct the named places and send ${present ? 'the change' : 'the whole configuration'} again.`,
      });
    }
    if (present !== undefined && isDeepStrictEqual(next, present)) return this.#lookNow({ force: true });
    const { owner, facts } = this.#options;
    const separated = separateSecrets(facts, owner, next, this.#good?.value);
    if (Object.keys(separated.secrets).length > 0) {
      await this.#writeSecrets((stored) => ({ ...stored, ...separated.secrets }));
    }
    // Only texts are moved to the secrets file: other types cannot be referenced.
    const holdsSecret = facts.properties.some((property) => property.secret || property.mayHoldSecret);
    const before = await readFile(this.file, 'utf8').catch(() => undefined);
    const saysNothing = present !== undefined && isDeepStrictEqual(separated.config, this.#emptyFile());
    await sayUnwritten(this.#options.fileName, async () => {
      if (saysNothing) {
        await rm(this.file, { force: true });
        // If a person removes the file, its last good state stays in effect; this removal restores the defaults.
        this.#good = undefined;
        return;
      }
      makeFolders(dirname(this.file));
      await writeAtomic(this.file, `${JSON.stringify(separated.config, null, 2)}\n`, holdsSecret ? 0o600 : 0o644);
    });
    this.#options.wrote({ path: this.file, before });
    const result = await this.#lookNow({ force: true });
    await this.#removeUnusedSecrets(separated.config);
    return result;
  }

  /** After the file was replaced, because the old one needs them. A failed removal is repeated after a later write. */
  async #removeUnusedSecrets(config: Config): Promise<void> {
    await this.#writeSecrets((stored) => {
      const unused = unusedSecrets(this.owner, config, stored);
      return Object.fromEntries(Object.entries(stored).filter(([name]) => !unused.includes(name)));
    }).catch(() => undefined);
  }

  async #writeSecrets(change: Parameters<SecretStore['write']>[0]): Promise<void> {
    const written = await this.#options.secrets.write(change);
    if (written !== undefined) this.#options.wrote(written);
  }

  /** The file's name for messages. */
  get shown(): string {
    return this.#options.fileName;
  }

  effective(): readonly EffectiveValue[] {
    const { computed } = this;
    if (computed === undefined) return [];
    const { owner, facts, fileName, secretVariables } = this.#options;
    return effectiveValues({ owner, facts, fileName, secretVariables, computed, file: this.#good?.value });
  }

  status(): ConfigStatus | undefined {
    const { snapshot, problem } = this;
    if (snapshot === undefined) return undefined;
    return {
      path: this.file,
      revision: snapshot.revision,
      source: snapshot.source,
      sha256: snapshot.sha256,
      loadedAt: new Date(snapshot.loadedAt).toISOString(),
      gone: this.gone,
      lastError:
        problem === null
          ? null
          : { at: new Date(problem.at).toISOString(), message: problem.message, sha256: problem.sha256 },
    };
  }

  /** Refuses the owner's configuration for a reason that no change of the file can fix. */
  block(problem: ConfigProblem): void {
    this.#blocked = problem;
    this.snapshot = undefined;
    this.problem = problem;
  }

  /** Records a problem that no change of the file can fix and that does not block the owner. */
  warn(problem: ConfigProblem): void {
    this.#standing = problem;
    this.problem ??= problem;
    this.#alert(problem);
  }

  /** This file with the type of its schema; `forget` runs when the owner disposes it. */
  as<C extends object>(forget: () => void): OwnedConfig<C> {
    this.#forget = forget;
    return this as OwnedConfig<object> as OwnedConfig<C>;
  }

  dispose(): void {
    this.#listeners.clear();
    this.#forget();
  }

  async #lookNow(how: { readonly force?: boolean; readonly recompute?: boolean }): Promise<ReloadResult> {
    if (this.#blocked !== undefined) return { changed: false, revision: 0, problem: this.#blocked };
    const content = await this.watched.look(how.force === true);
    const before = this.snapshot?.revision ?? 0;
    if (content !== undefined) this.#take(content);
    else if (how.recompute === true && this.#last !== undefined) this.#takeObject(this.#last.value, this.#last.sha256);
    const revision = this.snapshot?.revision ?? 0;
    return { changed: revision !== before, revision, problem: this.problem };
  }

  #take(content: FileContent): void {
    this.gone = false;
    if (content.kind === 'absent') {
      if (this.#good === undefined || this.snapshot === undefined) {
        this.#takeObject(undefined, null);
        return;
      }
      // When the file is removed, its problems are cleared and the last good state stays in effect.
      this.#last = this.#good;
      this.problem = this.#standing;
      this.gone = true;
      return;
    }
    const value = content.kind === 'text' ? parseObject(content.text) : undefined;
    if (value !== undefined) {
      this.#takeObject(value, content.sha256);
      return;
    }
    this.#last = undefined;
    const reason = content.kind === 'text' ? whyNoObject(content.text) : content.reason;
    this.#refuse([this.#fileIssue(reason)], content.sha256);
  }

  #takeObject(value: Config | undefined, sha256: string | null): void {
    this.#last = { value, sha256 };
    const result = this.#computeFrom(value);
    this.#options.reveal(result.secrets);
    if (!result.ok) {
      this.#refuse(result.issues, sha256);
      return;
    }
    this.problem = this.#standing;
    this.#good = value === undefined || sha256 === null ? undefined : { value, sha256 };
    this.#adopt(result, value === undefined ? 'defaults' : 'file', sha256);
  }

  /** The old state stays. Without one, a lenient owner starts from its defaults; any other is blocked. */
  #refuse(issues: readonly ConfigIssue[], sha256: string | null): void {
    const { facts, now } = this.#options;
    const problem = problemOf(issues, sha256, now());
    this.problem = problem;
    if (this.snapshot === undefined && facts.lenientFile) {
      const defaults = this.#computeFrom(undefined);
      if (defaults.ok) this.#adopt(defaults, 'defaults', null);
    }
    this.#alert(problem);
  }

  /** Once per content, or per message if there is none. */
  #alert({ message, sha256 }: ConfigProblem): void {
    const { owner } = this.#options;
    const identity = sha256 ?? message;
    if (this.#alerted.has(identity)) return;
    if (this.#alerted.size >= maxRemembered) this.#alerted.clear();
    this.#alerted.add(identity);
    this.#options.raise({
      source: `settings:${owner}`,
      severity: 'medium',
      code: `${owner.replaceAll('-', '_')}_config_invalid`,
      message,
      data: { file: this.#options.fileName, sha256 },
    });
  }

  #adopt(result: ComputedConfig, source: Snapshot['source'], sha256: string | null): void {
    const previous = this.snapshot;
    this.computed = result;
    this.warnings = result.warnings;
    if (previous !== undefined && isDeepStrictEqual(previous.config, result.config)) {
      this.snapshot = Object.freeze({ ...previous, source, sha256 });
      return;
    }
    const next: Snapshot = Object.freeze({
      config: deepFreeze(result.config),
      revision: (previous?.revision ?? 0) + 1,
      source,
      sha256,
      loadedAt: this.#options.now(),
    });
    this.snapshot = next;
    for (const listener of [...this.#listeners]) this.#notify(listener, next, previous);
  }

  #notify(
    listener: (next: Snapshot, previous: Snapshot | undefined) => void,
    next: Snapshot,
    previous: Snapshot | undefined,
  ): void {
    try {
      listener(next, previous);
    } catch (error) {
      this.#options.raise({
        source: `settings:${this.owner}`,
        severity: 'medium',
        code: 'config_listener_failed',
        message: `A listener of the configuration of ${this.owner} failed: ${error instanceof Error ? error.message : 'unknown error'}.`,
      });
    }
  }

  #computeFrom(value: Config | undefined, environment = this.#options.environment): Computed {
    const { facts, compiled, fileName, secretVariables, secrets } = this.#options;
    return compute({ facts, compiled, file: value, fileName, environment, secretVariables, secrets });
  }

  /** The minimal content of a new file, as far as the schema declares it. */
  #emptyFile(): Config {
    const { facts } = this.#options;
    return Object.fromEntries(
      facts.fileRequired.flatMap((name) => {
        const { const: fixed, default: given } = propertyAt(facts, [name])?.schema ?? {};
        const value = fixed ?? given;
        return value === undefined ? [] : [[name, value]];
      }),
    );
  }

  #restored(config: Config): Record<string, unknown> {
    return keepSecrets(this.#options.facts, config, this.#good?.value ?? {}, this.#options.secrets.get);
  }

  #fileIssue(message: string): ConfigIssue {
    return {
      path: '',
      place: '',
      keyword: 'file',
      message,
      params: {},
      origin: this.#options.fileName,
      shown: undefined,
    };
  }
}

function whyNoObject(text: string): string {
  return isTooDeep(text) ? `is nested deeper than ${maxFileDepth} levels` : 'is not a JSON object';
}

function parseObject(text: string): Config | undefined {
  if (isTooDeep(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
