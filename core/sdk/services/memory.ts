import type { TransactionOption } from '../host/database.js';
import type {
  MemoryBackendFacts,
  MemoryHit,
  MemoryItem,
  MemorySearch,
  StoredMemory,
} from '../points/memory-backend.js';
import type { CallOptions } from '../points.js';

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

/** The service `memory`: the backend that memories go to, whichever is chosen. Errors are those of the backend. */
export interface MemoryService {
  /** Key of the chosen backend. */
  readonly backend: string;
  /** Undefined while no active plugin offers the chosen backend. */
  facts(): MemoryBackendFacts | undefined;
  store(item: MemoryItem, options: CallOptions & TransactionOption): Promise<StoredMemory>;
  /** One answer for each item, in order. All or none for a transactional backend. */
  storeMany(items: readonly MemoryItem[], options: CallOptions & TransactionOption): Promise<readonly StoredMemory[]>;
  search(
    search: MemorySearch,
    options: CallOptions,
  ): Promise<{ readonly hits: readonly MemoryHit[]; readonly unknownFilters: readonly string[] }>;
  health(options: CallOptions): Promise<{ readonly ok: boolean; readonly detail: string }>;
  status(): MemoryBackendStatus;
}
