import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Suspect } from '../kernel/deps.js';
import { makeFolders } from '../sdk/folders.js';
import { isJsonObject } from '../sdk/json.js';

interface Step {
  readonly plugin: string;
  readonly step: string;
}

interface JournalState {
  /** Crashes in a row, each within a minute after its boot, that no new suspect explains. */
  crashes: number;
  /** The process stayed up: its end says nothing about the boot. */
  steady: boolean;
  /** The watchdog ended the process and recorded why. */
  explained: boolean;
  /** The enabled plugins; the count of crashes starts again with others. */
  wanted: string;
  /** The step that runs: set around synchronous code and imports. */
  current: Step | null;
  /** Plugins whose start() has been called and has not resolved. */
  waiting: readonly string[];
  /** By plugin: unfinished boots in a row in which the process ended during one of its steps. */
  named: Readonly<Record<string, number>>;
  suspects: Readonly<Record<string, Suspect>>;
}

/** Crashes in a row that are a loop: then only required plugins are started. */
const crashLimit = 2;
/** How long a process must stay up after its boot to end such a row, milliseconds. */
export const steadyAfterMs = 60_000;
/** Ends in a row within one plugin that make it a suspect, when it is unknown how the process ended. */
const namedLimit = 3;

/**
 * A small file that outlives a crash: which plugin was in the middle of a step when the process ended. It ends a crash
 * loop: the next boot leaves that plugin out until an admin releases it.
 */
export class BootJournal {
  readonly #path: string;
  #file: number | undefined;
  #length = 0;
  #closed = false;
  #state: JournalState;

  private constructor(file: string, state: JournalState) {
    this.#path = file;
    this.#state = state;
  }

  /**
   * Reads the journal of the last process. With `crashed` (the supervisor saw how it ended) a plugin that was in a step
   * is a suspect at once, and an unexplained end is counted. Otherwise the process may have been killed from outside:
   * nothing is counted, and a plugin becomes a suspect only when the process ends within it several times in a row.
   *
   * @param wanted the enabled plugins: a change of them starts the count of crashes again
   */
  static open(file: string, { crashed = false, wanted = '' } = {}): BootJournal {
    const last = read(file);
    const found = pluginsInStep(last);
    const named = Object.fromEntries(Object.keys(found).map((plugin) => [plugin, (last.named[plugin] ?? 0) + 1]));
    const suspected = Object.entries(found).filter(([plugin]) => crashed || (named[plugin] ?? 0) >= namedLimit);
    const news = suspected.some(([plugin, { sure }]) => sure && !Object.hasOwn(last.suspects, plugin));
    const counted = crashed && !last.explained && !news;
    const goesOn = !last.steady && last.wanted === wanted;
    const journal = new BootJournal(file, {
      crashes: goesOn ? last.crashes + (counted ? 1 : 0) : 0,
      steady: false,
      explained: false,
      wanted,
      current: null,
      waiting: [],
      named,
      suspects: { ...Object.fromEntries(suspected), ...last.suspects },
    });
    makeFolders(dirname(file), 0o700);
    journal.#write();
    return journal;
  }

  /** The process crashed several times in a row, and it is unknown which plugin caused it. */
  get crashLoop(): boolean {
    return this.#state.crashes >= crashLimit;
  }

  suspect(key: string): Suspect | undefined {
    return Object.hasOwn(this.#state.suspects, key) ? this.#state.suspects[key] : undefined;
  }

  /** An admin released the plugin. The counted crashes may have been caused by it, so they are forgotten too. */
  clearSuspect(key: string): void {
    if (this.#state.crashes > 0) this.#change({ crashes: 0 });
    if (!Object.hasOwn(this.#state.suspects, key)) return;
    const { [key]: _, ...suspects } = this.#state.suspects;
    this.#change({ suspects });
  }

  /**
   * Notes that a plugin is in a step until the returned function is called. Several may be `waiting` at once; any other
   * step is that of the code that runs now.
   */
  note(plugin: string, step: string): () => void {
    if (step === 'waiting') {
      this.#change({ waiting: [...this.#state.waiting, plugin] });
      return () => this.#change({ waiting: this.#state.waiting.filter((other) => other !== plugin) });
    }
    const current = { plugin, step };
    this.#change({ current });
    return () => {
      if (this.#state.current === current) this.#change({ current: null });
    };
  }

  /** The boot is over. */
  complete(): void {
    this.#change({ named: {} });
  }

  /** The process has stayed up for {@link steadyAfterMs} after its boot. */
  steady(): void {
    this.#change({ steady: true, crashes: 0 });
  }

  /** Closes the file; later notes are lost. */
  close(): void {
    this.#closed = true;
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #change(change: Partial<JournalState>): void {
    this.#state = { ...this.#state, ...change };
    this.#write();
  }

  /** One write in place: a crash of the process cannot tear it, and it is cheap enough for dozens in a start. */
  #write(): void {
    if (this.#closed) return;
    const text = JSON.stringify(this.#state).padEnd(this.#length);
    this.#length = text.length;
    try {
      this.#file ??= openSync(this.#path, 'w', 0o600);
      writeSync(this.#file, text, 0);
    } catch {
      // A full or read-only disk must not keep the platform from starting; the journal is then empty.
    }
  }
}

/** Written by the watchdog thread just before it ends the process. */
export function markSuspect(file: string, plugin: string, suspect: Suspect): void {
  const state = read(file);
  const next: JournalState = {
    ...state,
    explained: true,
    current: null,
    waiting: [],
    suspects: { ...state.suspects, [plugin]: suspect },
  };
  writeFileSync(`${file}.watchdog`, JSON.stringify(next), { mode: 0o600 });
  renameSync(`${file}.watchdog`, file);
}

/** The plugin whose code ran at the end; if none did, all that were starting. */
function pluginsInStep({ current, waiting }: JournalState): Readonly<Record<string, Suspect>> {
  if (current) return { [current.plugin]: { code: 'boot_crash', detail: current.step, sure: true } };
  const sure = waiting.length === 1;
  return Object.fromEntries(waiting.map((plugin) => [plugin, { code: 'boot_crash', detail: 'start', sure }]));
}

/** An empty journal is not that of an unfinished boot. */
const empty: JournalState = {
  crashes: 0,
  steady: true,
  explained: false,
  wanted: '',
  current: null,
  waiting: [],
  named: {},
  suspects: {},
};

/** A file that is missing, torn, or of another form is as good as none. */
function read(file: string): JournalState {
  try {
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const isJournal =
      isJsonObject(found) && Array.isArray(found.waiting) && isJsonObject(found.named) && isJsonObject(found.suspects);
    return isJournal ? { ...empty, ...found } : empty;
  } catch {
    return empty;
  }
}
