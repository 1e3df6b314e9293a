import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Why a plugin is left out of this boot. */
export interface Suspect {
  readonly code: 'boot_crash' | 'blocked_event_loop';
  /** The step it was in, or the seconds it blocked. */
  readonly detail: string;
}

interface JournalState {
  /** Boots in a row that ended before they were complete. */
  unfinished: number;
  /** What ran when the process was last seen. */
  current: { readonly plugin: string; readonly step: string } | null;
  complete: boolean;
  suspects: Record<string, Suspect>;
}

/** Boots in a row that may end early before only required plugins are started. */
const boundOfUnfinished = 3;

/**
 * A small file that outlives a crash: which plugin's code ran when the process ended. It is what ends a crash loop: the
 * next boot leaves that plugin out until an admin releases it.
 */
export class BootJournal {
  readonly #file: string;
  readonly #state: JournalState;

  private constructor(file: string, state: JournalState) {
    this.#file = file;
    this.#state = state;
  }

  static open(file: string): BootJournal {
    const last = read(file);
    const suspects = { ...last.suspects };
    if (!last.complete && last.current)
      suspects[last.current.plugin] ??= { code: 'boot_crash', detail: last.current.step };
    const unfinished = last.complete ? 0 : last.unfinished;
    const journal = new BootJournal(file, { unfinished: unfinished + 1, current: null, complete: false, suspects });
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    journal.#write();
    return journal;
  }

  /** Several boots in a row did not finish, and no plugin could be named. */
  get crashLoop(): boolean {
    return this.#state.unfinished > boundOfUnfinished;
  }

  suspect(key: string): Suspect | undefined {
    return this.#state.suspects[key];
  }

  acquit(key: string): void {
    if (!(key in this.#state.suspects)) return;
    delete this.#state.suspects[key];
    this.#write();
  }

  /** Notes that code of a plugin runs until the function it returns is called. Only steps of a boot are written. */
  note(plugin: string, step: string): () => void {
    const current = { plugin, step };
    this.#state.current = current;
    this.#write();
    return () => {
      if (this.#state.current !== current) return;
      this.#state.current = null;
      this.#write();
    };
  }

  /** The boot is over, or the process ends in order. */
  complete(): void {
    this.#state.complete = true;
    this.#state.current = null;
    this.#write();
  }

  #write(): void {
    try {
      writeFileSync(`${this.#file}.next`, JSON.stringify(this.#state), { mode: 0o600 });
      renameSync(`${this.#file}.next`, this.#file);
    } catch {
      // A full or read-only disk must not keep the platform from starting; the journal then tells nothing.
      rmSync(`${this.#file}.next`, { force: true });
    }
  }
}

/** Written by the watchdog thread just before it ends the process. */
export function accuse(file: string, plugin: string, suspect: Suspect): void {
  const state = read(file);
  state.suspects[plugin] = suspect;
  state.complete = true;
  writeFileSync(`${file}.watchdog`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.watchdog`, file);
}

function read(file: string): JournalState {
  const empty: JournalState = { unfinished: 0, current: null, complete: true, suspects: {} };
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<JournalState>;
    return {
      unfinished: typeof value.unfinished === 'number' ? value.unfinished : 0,
      current: value.current && typeof value.current.plugin === 'string' ? value.current : null,
      complete: value.complete !== false,
      suspects: typeof value.suspects === 'object' && value.suspects !== null ? value.suspects : {},
    };
  } catch {
    return empty;
  }
}
