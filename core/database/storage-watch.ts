import type { Logger } from '../sdk/context.js';
import { databaseError, shortReason } from './errors.js';

/**
 * How the storage was taken away from the running process: its file is gone, another file has its name, it was cut or
 * overwritten in place, or the tables are gone.
 */
export type StorageLoss = 'missing' | 'replaced' | 'overwritten' | 'emptied';

/** The result of a check of the storage. */
export type StorageState = 'intact' | StorageLoss;

interface StorageReading {
  readonly state: StorageState;
  /** Physical names of missing tables that migrations created. */
  readonly missingTables: readonly string[];
}

/** The operations of the watch that differ between the dialects. */
export interface StorageProbe {
  /** Compares the opened storage with the present one. @throws when the database does not answer */
  look(): Promise<StorageReading>;
  /** Makes the lost storage complete, wherever it is now. */
  preserve(): Promise<void>;
  /** Whether the present storage has all tables that this process relies on, so that it can be used instead. */
  isUsable(): Promise<boolean>;
  /** Makes the next connection use the present storage. */
  reopen(): Promise<void>;
}

export interface StorageEvents {
  lost(loss: StorageLoss): void;
  /** What was opened at first is there again: nothing has changed. */
  regained(): void;
  /** Some tables are missing. Calls that do not need them continue. */
  tablesMissing(): void;
  /** Other storage that can be used has taken its place. The owner calls `reopen` when nothing relies on the lost one. */
  replaceable(): void;
}

const lookEveryMs = 1_000;

/** Notices when the storage is taken away from the running process. SQLite itself would keep writing to a deleted file. */
export class StorageWatch {
  readonly #probe: StorageProbe;
  readonly #events: Partial<StorageEvents>;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #loss: StorageLoss | undefined;
  #missingTables: readonly string[] = [];
  #offered = false;
  #looking: Promise<void> | undefined;

  /** @param everyMs interval of the checks; 1,000 when absent */
  constructor(probe: StorageProbe, events: Partial<StorageEvents>, log: Logger, everyMs = lookEveryMs) {
    this.#probe = probe;
    this.#events = events;
    this.#log = log;
    this.#timer = setInterval(() => void this.check(), everyMs).unref();
  }

  get loss(): StorageLoss | undefined {
    return this.#loss;
  }

  /** Physical names of tables that were missing at the last check, although the storage is the one that was opened. */
  get missingTables(): readonly string[] {
    return this.#missingTables;
  }

  /** @throws MortiseError `database_lost` (503) */
  assertPresent(): void {
    if (this.#loss !== undefined) throw databaseError('database_lost');
  }

  /** Checks now. Never rejects: an unavailable database is reported by the calls that use it. */
  check(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#log.debug({ reason: shortReason(error) }, 'The storage could not be examined'))
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  /** Uses the present storage. */
  async reopen(): Promise<void> {
    await this.#probe.reopen();
    this.#loss = undefined;
    this.#offered = false;
  }

  dispose(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { state, missingTables } = await this.#probe.look();
    const wasComplete = this.#missingTables.length === 0;
    this.#missingTables = missingTables;
    if (wasComplete && missingTables.length > 0) this.#events.tablesMissing?.();
    if (state === 'intact') return this.#intact();
    if (state !== this.#loss) {
      const isFirst = this.#loss === undefined;
      this.#loss = state;
      if (isFirst) await this.#preserve();
      this.#events.lost?.(state);
    }
    const isOther = state === 'replaced' || state === 'overwritten';
    if (!isOther || this.#offered || !(await this.#probe.isUsable())) return;
    this.#offered = true;
    this.#events.replaceable?.();
  }

  #intact(): void {
    const before = this.#loss;
    if (before === undefined || this.#offered) return;
    // Restored tables may have other rows: state in memory must not rely on the old ones.
    if (before === 'emptied') {
      this.#offered = true;
      this.#events.replaceable?.();
      return;
    }
    this.#loss = undefined;
    this.#events.regained?.();
  }

  async #preserve(): Promise<void> {
    try {
      await this.#probe.preserve();
    } catch (error) {
      this.#log.error({ reason: shortReason(error) }, 'The log of the lost database could not be copied into it');
    }
  }
}
