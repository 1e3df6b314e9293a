import { seededRandom } from 'mortise/sdk/testing';

/** What can be asked of the server, by the name that scripts use. */
export type FakeCall = 'health' | 'add' | 'search' | 'get' | 'list';

/** What one request meets instead of a good answer. `apply`: the memory is kept all the same, and nobody is told. */
export type FakeFault =
  | {
      readonly kind: 'status';
      readonly status: number;
      /** Value of the header `Retry-After`. */
      readonly retryAfter?: string;
      readonly body?: unknown;
      readonly location?: string;
      readonly apply?: boolean;
    }
  /** No answer until the client leaves or the server stops. */
  | { readonly kind: 'hang'; readonly apply?: boolean }
  /** A good answer, later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The connection is cut before the answer. */
  | { readonly kind: 'reset'; readonly apply?: boolean }
  /** Applied; the connection is cut in the middle of the answer. */
  | { readonly kind: 'truncate' }
  /** Applied; the answer is no JSON. */
  | { readonly kind: 'malformed' }
  /** Applied; the answer is larger than `bytes`. */
  | { readonly kind: 'oversized'; readonly bytes: number }
  /** Applied; the answer names no id. */
  | { readonly kind: 'missing-id' }
  /** Status 200, `success: false`; nothing is kept. */
  | { readonly kind: 'success-false' }
  /** Nothing is kept; the answer is another memory's id (the last one's when absent). `silent`: without saying so. */
  | { readonly kind: 'merge'; readonly into?: string; readonly silent?: boolean }
  /** A search answers with these hits, whatever it was asked. */
  | { readonly kind: 'hits'; readonly hits: readonly object[] };

/** Which fault, if any, the next request of a call meets. */
export interface FaultScript {
  /** One fault for each of the next requests, in order. `null` lets one pass. */
  add(call: FakeCall | 'any', faults: readonly (FakeFault | null)[]): void;
  /** Every request, until {@link clear}. */
  always(call: FakeCall | 'any', fault: FakeFault): void;
  clear(): void;
  next(call: FakeCall): FakeFault | null;
}

/** Faults by chance, the same for the same seed: the share of requests that store, 0 to 1, for each. */
export interface RandomFaults {
  readonly seed: number;
  readonly rates: Readonly<Record<string, number>>;
}

/** The faults that chance may choose, by name. */
export const namedFaults: Readonly<Record<string, FakeFault>> = {
  'status-500': { kind: 'status', status: 500 },
  'status-503': { kind: 'status', status: 503 },
  slow: { kind: 'slow', ms: 200 },
  hang: { kind: 'hang' },
  'apply-then-timeout': { kind: 'hang', apply: true },
  reset: { kind: 'reset' },
  'apply-then-reset': { kind: 'reset', apply: true },
  truncate: { kind: 'truncate' },
  malformed: { kind: 'malformed' },
  'missing-id': { kind: 'missing-id' },
  'success-false': { kind: 'success-false' },
  merge: { kind: 'merge' },
};

function chooser({ seed, rates }: RandomFaults): () => FakeFault | null {
  const random = seededRandom(seed);
  for (const name of Object.keys(rates)) {
    if (namedFaults[name] === undefined) throw new Error(`There is no fault "${name}".`);
  }
  return () => {
    let point = random();
    for (const [name, rate] of Object.entries(rates)) {
      if (point < rate) return namedFaults[name] ?? null;
      point -= rate;
    }
    return null;
  };
}

/** A script that is empty at first. Chance only has its say where the script has none, and only about `add`. */
export function createFaultScript(random?: RandomFaults): FaultScript {
  const queues = new Map<string, (FakeFault | null)[]>();
  const standing = new Map<string, FakeFault>();
  const choose = random && chooser(random);

  return {
    add(call, faults) {
      queues.set(call, [...(queues.get(call) ?? []), ...faults]);
    },
    always(call, fault) {
      standing.set(call, fault);
    },
    clear() {
      queues.clear();
      standing.clear();
    },
    next(call) {
      for (const name of [call, 'any']) {
        const queue = queues.get(name);
        if (queue !== undefined && queue.length > 0) return queue.shift() ?? null;
      }
      return standing.get(call) ?? standing.get('any') ?? (call === 'add' ? (choose?.() ?? null) : null);
    },
  };
}
