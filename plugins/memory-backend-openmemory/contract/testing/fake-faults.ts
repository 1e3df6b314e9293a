/** Requests to the server, by their name in scripts. */
export type FakeCall = 'health' | 'add' | 'search' | 'get' | 'list';

/** A failure of one request. `apply`: the memory is stored nevertheless. */
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
  /** No response until the client disconnects or the server stops. */
  | { readonly kind: 'hang'; readonly apply?: boolean }
  /** A delayed success. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** A success after `until` has resolved. */
  | { readonly kind: 'held'; readonly until: Promise<void> }
  /** The connection is reset before the response. */
  | { readonly kind: 'reset'; readonly apply?: boolean }
  /** Applied; the connection is closed in the middle of the response. */
  | { readonly kind: 'truncate' }
  /** Applied; the response is not JSON. */
  | { readonly kind: 'malformed' }
  /** Applied; the response is larger than `bytes`. */
  | { readonly kind: 'oversized'; readonly bytes: number }
  /** Applied; the response has no id. */
  | { readonly kind: 'missing-id' }
  /** Status 200, `success: false`; nothing is stored. */
  | { readonly kind: 'success-false' }
  /** Nothing is stored; the response has another memory's id (default: the last one). `silent`: without a mark. */
  | { readonly kind: 'merge'; readonly into?: string; readonly silent?: boolean }
  /** A search returns these hits for any query. */
  | { readonly kind: 'hits'; readonly hits: readonly object[] };

/** Selects the fault of the next request, if any. */
export interface FaultScript {
  /** One fault for each of the next requests, in order; `null` lets one succeed. */
  add(call: FakeCall | 'any', faults: readonly (FakeFault | null)[]): void;
  /** Every request, until {@link clear}. */
  always(call: FakeCall | 'any', fault: FakeFault): void;
  clear(): void;
  next(call: FakeCall): FakeFault | null;
}

export function createFaultScript(): FaultScript {
  const queues = new Map<string, (FakeFault | null)[]>();
  const permanent = new Map<string, FakeFault>();

  return {
    add(call, faults) {
      queues.set(call, [...(queues.get(call) ?? []), ...faults]);
    },
    always(call, fault) {
      permanent.set(call, fault);
    },
    clear() {
      queues.clear();
      permanent.clear();
    },
    next(call) {
      for (const name of [call, 'any']) {
        const queue = queues.get(name);
        if (queue !== undefined && queue.length > 0) return queue.shift() ?? null;
      }
      return permanent.get(call) ?? permanent.get('any') ?? null;
    },
  };
}
