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

/** One write that the server applied, whatever its client was told. */
export interface JournalEntry {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** `stored`: a new memory; `merged`: the content was thrown away for `id`; `repeated`: its key was known. */
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

/** The memories of a stand-in server, and the journal of what was done to them. */
export interface FakeMemories {
  readonly byId: Map<string, FakeMemory>;
  readonly journal: readonly JournalEntry[];
  store(memory: NewFakeMemory): FakeMemory;
  /** Throws the content away; the id of the memory it was merged into, or of a new one when there is none. */
  merge(memory: NewFakeMemory, into: string | undefined): FakeMemory;
  search(query: string, accepts: (memory: FakeMemory) => boolean, limit: number): readonly FakeHit[];
  /** Newest first. */
  newest(limit: number, offset: number): readonly FakeMemory[];
}

const WORDS = /[\p{L}\p{N}_]+/gu;

/** Above what any text gets that only holds the query: the very same text is the nearest there is. */
const MOST_BUT_SAME = 0.99;

function scorer(query: string): (content: string) => number {
  const wanted = query.toLowerCase();
  const words = wanted.match(WORDS) ?? [];
  return (content) => {
    if (content === query) return 1;
    const text = content.toLowerCase();
    if (text.includes(wanted)) return MOST_BUT_SAME;
    if (words.length === 0) return 0;
    return (MOST_BUT_SAME * words.filter((word) => text.includes(word)).length) / words.length;
  };
}

/** @param journalFile Every entry is also appended to this file, a JSON line each, before its request is answered. */
export function createFakeMemories(options: {
  readonly idempotent: boolean;
  readonly journalFile?: string;
}): FakeMemories {
  const byId = new Map<string, FakeMemory>();
  const journal: JournalEntry[] = [];
  const idOfKey = new Map<string, string>();
  let last: FakeMemory | undefined;
  let made = 0;

  const note = (as: JournalEntry['as'], memory: FakeMemory, given: NewFakeMemory): FakeMemory => {
    const entry: JournalEntry = { seq: journal.length + 1, at: Date.now(), as, id: memory.id, ...given };
    journal.push(entry);
    if (options.journalFile !== undefined) appendFileSync(options.journalFile, `${JSON.stringify(entry)}\n`);
    return memory;
  };

  const store = (given: NewFakeMemory): FakeMemory => {
    const { idempotencyKey: key, ...kept } = given;
    const known = options.idempotent && key !== null ? byId.get(idOfKey.get(key) ?? '') : undefined;
    if (known !== undefined) return note('repeated', known, given);
    made += 1;
    const memory = { id: `om-${made}`, createdAt: Date.now(), ...kept };
    byId.set(memory.id, memory);
    if (key !== null) idOfKey.set(key, memory.id);
    last = memory;
    return note('stored', memory, given);
  };

  return {
    byId,
    journal,
    store,
    merge(given, into) {
      const target = into === undefined ? last : byId.get(into);
      return target === undefined ? store(given) : note('merged', target, given);
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
