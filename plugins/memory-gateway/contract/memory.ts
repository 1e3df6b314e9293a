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

/** How the memory backend does, as the reliability report shows it. */
export interface MemoryBackendStatus {
  readonly key: string;
  /** `open`: it is not called at the moment. */
  readonly circuit: 'closed' | 'open' | 'half_open';
  /** ISO 8601; null before the first success. */
  readonly last_ok_at: string | null;
  /** Without address, key or content; null while all is well. */
  readonly last_error: string | null;
}

/** What became of a memory that was handed to the backend. */
export type Delivery =
  | {
      readonly kind: 'stored';
      readonly id: string;
      /** The backend had the same content already. */
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
      /** One sentence without address, key or content. */
      readonly message: string;
      /** `unknown`: the backend may have it. */
      readonly applied: 'no' | 'unknown';
      readonly retryAfterMs: number | null;
      /** Id of the memory that the backend kept in its place. */
      readonly mergedInto: string | null;
    };

export type FailedDelivery = Extract<Delivery, { readonly kind: 'failed' }>;

export interface DeliveryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for all of it, a repeated call included. */
  readonly timeoutMs?: number | undefined;
  /** Call once more where that cannot double the memory. */
  readonly repeats?: boolean | undefined;
  readonly correlationId?: string | undefined;
}

/** What a memory is looked up by. */
export interface WantedMemory {
  readonly memoryKey: string;
  readonly space: string;
  readonly payloadSha: string;
  readonly content: string;
}

/** The service `memory`: the backend that memories go to, whichever is chosen. Errors are those of the backend. */
export interface MemoryService {
  /** Key of the chosen backend. */
  readonly backend: string;
  /** Ledger and outbox keep the text of memories that are in the backend. */
  readonly keepsText: boolean;
  /** Undefined while no active plugin offers the chosen backend. */
  facts(): MemoryBackendFacts | undefined;
  store(item: MemoryItem, options: CallOptions & TransactionOption): Promise<StoredMemory>;
  /** One answer for each item, in order. All or none for a transactional backend. */
  storeMany(items: readonly MemoryItem[], options: CallOptions & TransactionOption): Promise<readonly StoredMemory[]>;
  /** Stores, judges the answer, and says what came of it instead of throwing. */
  deliver(item: MemoryItem, options?: DeliveryOptions): Promise<Delivery>;
  /** As {@link deliver} in one call, where the backend takes many at once; one answer for each, in order. */
  deliverMany(items: readonly MemoryItem[], options?: DeliveryOptions): Promise<readonly Delivery[]>;
  /** What an error that this service threw means for the memory it was called for. */
  failure(error: unknown): FailedDelivery;
  /** Whether the backend takes many memories in one call. */
  takesMany(): Promise<boolean>;
  search(
    search: MemorySearch,
    options: CallOptions,
  ): Promise<{ readonly hits: readonly MemoryHit[]; readonly unknownFilters: readonly string[] }>;
  /** Null: the backend does not have it. Undefined: the backend cannot say. */
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
  /** Called when the backend answers again after it was not called for a while. */
  onRecovered(run: () => void): Disposable;
}
