import { mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Suspect } from './ports.js';

interface Step {
  readonly plugin: string;
  readonly step: string;
}

interface JournalState {
  /** Boots in a row that ended before they were complete. */
  unfinished: number;
  complete: boolean;
  /** Whose code runs: set around code that does not wait, and imports. */
  current: Step | null;
  /** Plugins whose start() has been called and is not done. */
  waiting: readonly string[];
  /** In how many unfinished boots in a row the process ended within a plugin. */
  named: Readonly<Record<string, number>>;
  suspects: Readonly<Record<string, Suspect>>;
}

/** Boots in a row that may end early before only required plugins are started. */
const boundOfUnfinished = 3;
/** Ends in a row within one plugin that make it a suspect, when nobody knows how the process ended. */
const boundOfNamed = 3;

/**
 * A small file that outlives a crash: which plugin was in the middle of something when the process ended. It is what ends
 * a crash loop: the next boot leaves that plugin out until an admin releases it.
 */
export class BootJournal {
  readonly #path: string;
  #file: number | undefined;
  #length = 0;
  #state: JournalState;

  private constructor(file: string, state: JournalState) {
    this.#path = file;
    this.#state = state;
  }

  /**
   * Reads what the last process left. `crashed` says that it is known to have crashed (its supervisor saw how it ended):
   * whoever was in the middle of something is a suspect at once. Without that knowledge it may as well have been killed
   * from outside, so a plugin becomes a suspect when the process ends within it several times in a row.
   */
  static open(file: string, { crashed = false } = {}): BootJournal {
    const last = read(file);
    const found = whoWasIn(last);
    const named = Object.fromEntries(Object.keys(found).map((plugin) => [plugin, (last.named[plugin] ?? 0) + 1]));
    const accused = Object.entries(found).filter(([plugin]) => crashed || (named[plugin] ?? 0) >= boundOfNamed);
    const journal = new BootJournal(file, {
      unfinished: (last.complete ? 0 : last.unfinished) + 1,
      complete: false,
      current: null,
      waiting: [],
      named,
      suspects: { ...Object.fromEntries(accused), ...last.suspects },
    });
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    journal.#write();
    return journal;
  }

  /** Several boots in a row did not finish, and leaving out the suspects did not help. */
  get crashLoop(): boolean {
    return this.#state.unfinished > boundOfUnfinished;
  }

  suspect(key: string): Suspect | undefined {
    return Object.hasOwn(this.#state.suspects, key) ? this.#state.suspects[key] : undefined;
  }

  acquit(key: string): void {
    if (!Object.hasOwn(this.#state.suspects, key)) return;
    const { [key]: _, ...suspects } = this.#state.suspects;
    this.#change({ suspects });
  }

  /**
   * Notes that a plugin is in a step until the function it returns is called. Several may be `waiting` at once; any other
   * step is that of the code which runs now.
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
    this.#change({ complete: true, named: {} });
  }

  #change(change: Partial<JournalState>): void {
    this.#state = { ...this.#state, ...change };
    this.#write();
  }

  /** One write in place: a process that crashes cannot tear it, and a start makes dozens of them. */
  #write(): void {
    const text = JSON.stringify(this.#state).padEnd(this.#length);
    this.#length = text.length;
    try {
      this.#file ??= openSync(this.#path, 'w', 0o600);
      writeSync(this.#file, text, 0);
    } catch {
      // A full or read-only disk must not keep the platform from starting; the journal then tells nothing.
    }
  }
}

/** Written by the watchdog thread just before it ends the process. */
export function accuse(file: string, plugin: string, seconds: number): void {
  const state = read(file);
  const suspect: Suspect = { code: 'blocked_event_loop', detail: String(seconds), sure: true };
  const next: JournalState = {
    ...state,
    complete: true,
    current: null,
    waiting: [],
    suspects: { ...state.suspects, [plugin]: suspect },
  };
  writeFileSync(`${file}.watchdog`, JSON.stringify(next), { mode: 0o600 });
  renameSync(`${file}.watchdog`, file);
}

/** Code that ran at the end did it; when none did, one of those that waited. */
function whoWasIn({ current, waiting }: JournalState): Readonly<Record<string, Suspect>> {
  if (current) return { [current.plugin]: { code: 'boot_crash', detail: current.step, sure: true } };
  const sure = waiting.length === 1;
  return Object.fromEntries(waiting.map((plugin) => [plugin, { code: 'boot_crash', detail: 'start', sure }]));
}

function read(file: string): JournalState {
  let value: Partial<JournalState> = {};
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof parsed === 'object' && parsed !== null) value = parsed;
  } catch {
    // There is none, or it was torn: it tells nothing.
  }
  return {
    unfinished: typeof value.unfinished === 'number' ? value.unfinished : 0,
    complete: value.complete !== false,
    current: typeof value.current?.plugin === 'string' ? value.current : null,
    waiting: strings(value.waiting),
    named: record(value.named),
    suspects: record(value.suspects),
  };
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

function record<T>(value: Readonly<Record<string, T>> | undefined): Readonly<Record<string, T>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}
