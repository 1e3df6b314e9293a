import { appendFileSync } from 'node:fs';

export interface FakeMemory {
  readonly id: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly userId: string | null;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** One applied write, regardless of its response. */
export interface JournalEntry {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** `stored`: a new memory; `merged`: the content was discarded for `id`; `repeated`: its key was known. */
  readonly as: 'stored' | 'merged' | 'repeated';
  readonly id: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly userId: string | null;
  readonly idempotencyKey: string | null;
}

export type NewFakeMemory = Omit<JournalEntry, 'seq' | 'at' | 'as' | 'id'>;

export interface FakeHit {
  readonly memory: FakeMemory;
  readonly score: number;
}

/** The memories of a fake server, and the journal of its writes. */
export interface FakeMemories {
  readonly byId: Map<string, FakeMemory>;
  readonly journal: readonly JournalEntry[];
  store(memory: NewFakeMemory): FakeMemory;
  /** Discards the content and returns the memory it was merged into, or a new one when there is none. */
  merge(memory: NewFakeMemory, into: string | undefined): FakeMemory;
  search(query: string, accepts: (memory: FakeMemory) => boolean, limit: number): readonly FakeHit[];
  /** Newest first. */
  newest(limit: number, offset: number): readonly FakeMemory[];
}

const wordPattern = /[\p{L}\p{N}_]+/gu;

/** Highest score of a text that only contains the query; an identical text scores 1. */
const maxContaining = 0.99;

function scorer(query: string): (content: string) => number {
  const wanted = query.toLowerCase();
  const words = wanted.match(wordPattern) ?? [];
  return (content) => {
    if (content === query) return 1;
    const text = content.toLowerCase();
    if (text.includes(wanted)) return maxContaining;
    if (words.length === 0) return 0;
    return (maxContaining * words.filter((word) => text.includes(word)).length) / words.length;
  };
}

/** @param options.journalFile every entry is also appended to this file, before its request is answered. */
export function createFakeMemories(options: {
  readonly idempotent: boolean;
  readonly journalFile?: string;
}): FakeMemories {
  const byId = new Map<string, FakeMemory>();
  const journal: JournalEntry[] = [];
  const idOfKey = new Map<string, string>();
  let last: FakeMemory | undefined;
  let count = 0;

  const record = (as: JournalEntry['as'], memory: FakeMemory, given: NewFakeMemory): FakeMemory => {
    const entry: JournalEntry = { seq: journal.length + 1, at: Date.now(), as, id: memory.id, ...given };
    journal.push(entry);
    if (options.journalFile !== undefined) appendFileSync(options.journalFile, `${JSON.stringify(entry)}\n`);
    return memory;
  };

  const store = (given: NewFakeMemory): FakeMemory => {
    const { idempotencyKey: key, ...fields } = given;
    const known = options.idempotent && key !== null ? byId.get(idOfKey.get(key) ?? '') : undefined;
    if (known !== undefined) return record('repeated', known, given);
    count += 1;
    const memory = { id: `om-${count}`, createdAt: Date.now(), ...fields };
    byId.set(memory.id, memory);
    if (key !== null) idOfKey.set(key, memory.id);
    last = memory;
    return record('stored', memory, given);
  };

  return {
    byId,
    journal,
    store,
    merge(given, into) {
      const target = into === undefined ? last : byId.get(into);
      return target === undefined ? store(given) : record('merged', target, given);
    },
    search(query, accepts, limit) {
      const scoreOf = scorer(query);
      return [...byId.values()]
        .filter(accepts)
        .map((memory) => ({ memory, score: scoreOf(memory.content) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || b.memory.createdAt - a.memory.createdAt)
        .slice(0, limit);
    },
    newest(limit, offset) {
      return [...byId.values()].reverse().slice(offset, offset + limit);
    },
  };
}
