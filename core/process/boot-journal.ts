import { closeSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Suspect } from '../kernel/deps.js';
import { makeFolders } from '../sdk/make-folders.js';

interface Step {
  readonly plugin: string;
  readonly step: string;
}

interface JournalState {
  /** Crashes in a row, each within a minute after its boot, that no new suspect explains. */
  crashes: number;
  /** The process stayed up: its end says nothing about the boot. */
  steady: boolean;
  /** The watchdog ended the process, and said why. */
  explained: boolean;
  /** Which plugins were to run: with others the crashes are not counted on. */
  wanted: string;
  /** Whose code runs: set around code that does not wait, and imports. */
  current: Step | null;
  /** Plugins whose start() has been called and is not done. */
  waiting: readonly string[];
  /** In how many unfinished boots in a row the process ended within a plugin. */
  named: Readonly<Record<string, number>>;
  suspects: Readonly<Record<string, Suspect>>;
}

/** So many crashes in a row are a loop: then only required plugins are started. */
const boundOfCrashes = 2;
/** How long a process must stay up after its boot to end such a row, milliseconds. */
export const steadyAfterMs = 60_000;
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
  #closed = false;
  #state: JournalState;

  private constructor(file: string, state: JournalState) {
    this.#path = file;
    this.#state = state;
  }

  /**
   * Reads what the last process left. `crashed` says that it is known to have crashed (its supervisor saw how it ended):
   * whoever was in the middle of something is a suspect at once, and an end that nobody explains is counted. Without
   * that knowledge it may as well have been killed from outside, so nothing is counted, and a plugin becomes a suspect
   * only when the process ends within it several times in a row.
   *
   * `wanted` names the plugins that should run: whoever changes them has done something about the crashes.
   */
  static open(file: string, { crashed = false, wanted = '' } = {}): BootJournal {
    const last = read(file);
    const found = whoWasIn(last);
    const named = Object.fromEntries(Object.keys(found).map((plugin) => [plugin, (last.named[plugin] ?? 0) + 1]));
    const suspected = Object.entries(found).filter(([plugin]) => crashed || (named[plugin] ?? 0) >= boundOfNamed);
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

  /** The process crashed several times in a row, and nobody knows which plugin did it. */
  get crashLoop(): boolean {
    return this.#state.crashes >= boundOfCrashes;
  }

  suspect(key: string): Suspect | undefined {
    return Object.hasOwn(this.#state.suspects, key) ? this.#state.suspects[key] : undefined;
  }

  /** The admin vouches for a plugin; what was counted may have been its doing, and is forgotten too. */
  clearSuspect(key: string): void {
    if (this.#state.crashes > 0) this.#change({ crashes: 0 });
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
    this.#change({ named: {} });
  }

  /** The process has stayed up for {@link steadyAfterMs} after its boot. */
  steady(): void {
    this.#change({ steady: true, crashes: 0 });
  }

  /** Lets go of the file; what is noted from now on is lost. */
  close(): void {
    this.#closed = true;
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #change(change: Partial<JournalState>): void {
    this.#state = { ...this.#state, ...change };
    this.#write();
  }

  /** One write in place: a process that crashes cannot tear it, and a start makes dozens of them. */
  #write(): void {
    if (this.#closed) return;
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
    crashes: typeof value.crashes === 'number' ? value.crashes : 0,
    // A journal that tells nothing speaks of no boot.
    steady: value.steady !== false,
    explained: value.explained === true,
    wanted: typeof value.wanted === 'string' ? value.wanted : '',
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
