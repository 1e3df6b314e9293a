import type { FailureClass } from 'mortise/contracts/logbook';
import type {
  BackendMemory,
  CallOptions,
  Disposable,
  MemoryBackendFacts,
  MemoryHit,
  MemoryItem,
  MemorySearch,
  StoredMemory,
  TransactionOption,
} from 'mortise/sdk';

/** The state of the memory backend, as the reliability report shows it. */
export interface MemoryBackendStatus {
  readonly key: string;
  /** `open`: the backend is not called. */
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** ISO 8601; null before the first success. */
  readonly last_ok_at: string | null;
  /** Without address, key or content; null after a success. */
  readonly last_error: string | null;
}

/** The outcome of storing a memory in the backend. */
export type Delivery =
  | {
      readonly kind: 'stored';
      readonly id: string;
      /** The backend already had the same content. */
      readonly dedup: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly class: FailureClass;
      /**
       * As audit reasons name it: `connection_error`, `timeout`, `api_error_<status>`, `invalid_response`, `merged`,
       * `content_too_long`, `circuit_open`, `unknown`.
       */
      readonly detail: string;
      /** A sentence without address, key or content. */
      readonly message: string;
      /** `unknown`: the backend may have stored it. */
      readonly applied: 'no' | 'unknown';
      readonly retryAfterMs: number | null;
      /** Id of the memory with other content that the backend merged it into. */
      readonly mergedInto: string | null;
    };

export type FailedDelivery = Extract<Delivery, { readonly kind: 'failed' }>;

export interface DeliveryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds in total, including a second call. */
  readonly timeoutMs?: number | undefined;
  /** Retry once if that cannot store the memory twice. */
  readonly retriesOnce?: boolean | undefined;
  readonly correlationId?: string | undefined;
}

/** Identifies a memory to look up. */
export interface WantedMemory {
  readonly memoryKey: string;
  readonly space: string;
  readonly payloadSha: string;
  readonly content: string;
}

/** Where the outbox worker runs: in this process, in a process that an operator runs, or in none that is known. */
export type OutboxDelivery = 'here' | 'elsewhere' | 'none';

/** The service `memory`: calls the chosen backend and throws its errors. */
export interface MemoryService {
  /** Key of the chosen backend. */
  readonly backend: string;
  /** Ledger and outbox keep the text of memories that are in the backend. */
  readonly keepsText: boolean;
  /** Undefined while no active plugin contributes the chosen backend. */
  facts(): MemoryBackendFacts | undefined;
  store(item: MemoryItem, options: CallOptions & TransactionOption): Promise<StoredMemory>;
  /** One result for each item, in order. A transactional backend stores all or none. */
  storeMany(items: readonly MemoryItem[], options: CallOptions & TransactionOption): Promise<readonly StoredMemory[]>;
  /** Stores, verifies the answer, and returns the outcome instead of throwing. */
  deliver(item: MemoryItem, options?: DeliveryOptions): Promise<Delivery>;
  /** As {@link deliver}, for many memories in one call; one outcome for each, in order. */
  deliverMany(items: readonly MemoryItem[], options?: DeliveryOptions): Promise<readonly Delivery[]>;
  /** The failed delivery that an error of this service amounts to. */
  failure(error: unknown): FailedDelivery;
  /** Whether the backend accepts many memories in one call. */
  storesMany(): Promise<boolean>;
  search(
    search: MemorySearch,
    options: CallOptions,
  ): Promise<{ readonly hits: readonly MemoryHit[]; readonly unknownFilters: readonly string[] }>;
  /** Null: the backend does not have it. Undefined: the backend cannot look it up. */
  find(wanted: WantedMemory, options?: CallOptions): Promise<StoredMemory | null | undefined>;
  /** Null: the backend does not have it. Undefined: the backend cannot read. */
  get(id: string, options?: CallOptions): Promise<BackendMemory | null | undefined>;
  /** Undefined: the backend cannot list. */
  list(
    cursor: string | null,
    limit: number,
    options?: CallOptions,
  ): Promise<{ readonly items: readonly BackendMemory[]; readonly next: string | null } | undefined>;
  health(options: CallOptions): Promise<{ readonly ok: boolean; readonly detail: string }>;
  status(): MemoryBackendStatus;
  /** Calls `run` when the circuit closes after it was open. */
  onRecovered(run: () => void): Disposable;
  readonly outboxDelivery: OutboxDelivery;
  /** Sets `outboxDelivery` until the returned object is disposed; for the plugin that manages the outbox. */
  announceDelivery(delivery: Exclude<OutboxDelivery, 'none'>): Disposable;
}
