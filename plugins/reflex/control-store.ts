import { createDrain, type Database, insertRows } from 'mortise/sdk';
import { type ControlEntry, controlRow, controlTable } from './control-entry.js';
import { type Overlay, overlayName, removeOverlay, setOverlay } from './overlay-store.js';

type Place = Pick<Overlay, 'layer' | 'key'>;

/** How a change modifies the stored overrides. */
export type OverlayChange =
  | (Place & {
      readonly kind: 'set';
      readonly value: Overlay['value'];
      /** Monotonic milliseconds; null = until cleared. */
      readonly endsAt: number | null;
      readonly reason: string | null;
      readonly obsId: string;
    })
  | (Place & { readonly kind: 'clear' })
  /** It expires in every process that knows it; the process that deletes the row audits the expiry. */
  | (Place & { readonly kind: 'expire'; readonly obsId: string });

/** The rows of one change, written together. */
interface ControlWrite {
  readonly entries: readonly ControlEntry[];
  readonly overlay?: OverlayChange | undefined;
}

interface ControlStoreDeps {
  readonly database: Database;
  /** Whether overrides are stored at all. */
  readonly shared: boolean;
  readonly monotonic: () => number;
  readonly failed: (error: unknown) => void;
  /** The stored overrides have changed. */
  readonly overlaysWritten: () => void;
}

/** The notification channel for changes of stored overrides. */
export const overlayChannel = 'overlays';

const queueLimit = 1_000;
/** Rows of one statement. */
const batchLimit = 100;
/** Delay before a failed write is retried, milliseconds. */
const retryMs = 1_000;

/**
 * Writes audit rows and stored overrides in order, without a change waiting for the database. While the database is down
 * rows are queued up to a limit; beyond it {@link room} refuses changes, so that no change goes unaudited.
 */
export class ControlStore {
  readonly #deps: ControlStoreDeps;
  #waiting: ControlWrite[] = [];
  #rows = 0;
  #revision = 0;
  readonly #writing = createDrain(() => this.#writeAll());
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(deps: ControlStoreDeps) {
    this.#deps = deps;
  }

  /** Grows with every change of an override. */
  get revision(): number {
    return this.#revision;
  }

  room(rows: number): boolean {
    return this.#rows + rows <= queueLimit;
  }

  add(write: ControlWrite): void {
    this.#waiting.push(write);
    this.#rows += write.entries.length;
    if (write.overlay) this.#revision += 1;
    if (this.#retry === undefined) this.#writing.request();
  }

  /** Whether a change of this override is not written yet, so that the stored value is outdated. */
  pending(place: Place): boolean {
    const name = overlayName(place);
    return this.#waiting.some(({ overlay }) => overlay !== undefined && overlayName(overlay) === name);
  }

  /** Resolves when all rows are written, or one more try has failed. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#writing.idle();
    if (this.#waiting.length > 0) await this.#writeNext().catch(this.#deps.failed);
  }

  async #writeAll(): Promise<void> {
    let overlays = false;
    try {
      while (this.#waiting.length > 0) overlays = (await this.#writeNext()) || overlays;
    } catch (error) {
      this.#deps.failed(error);
      if (this.#closed) return;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#writing.request();
      }, retryMs);
      this.#retry.unref();
    }
    if (overlays) this.#deps.overlaysWritten();
  }

  /** @returns whether a stored override has changed */
  async #writeNext(): Promise<boolean> {
    const [first] = this.#waiting;
    if (first && this.#deps.shared && first.overlay) {
      await this.#writeOverlay(first.overlay, first.entries);
      this.#done(1);
      return true;
    }
    const batch = this.#batch();
    const rows = batch.flatMap(({ entries }) => entries).map(controlRow);
    await insertRows(this.#deps.database, controlTable, rows);
    this.#done(batch.length);
    return false;
  }

  /** The next writes that consist of audit rows only. */
  #batch(): readonly ControlWrite[] {
    const end = this.#waiting.findIndex(({ overlay }) => this.#deps.shared && overlay !== undefined);
    return this.#waiting.slice(0, end < 0 ? batchLimit : Math.min(end, batchLimit));
  }

  #done(count: number): void {
    for (const { entries } of this.#waiting.splice(0, count)) this.#rows -= entries.length;
  }

  async #writeOverlay(change: OverlayChange, entries: readonly ControlEntry[]): Promise<void> {
    const { database, monotonic } = this.#deps;
    await database.transaction(async (trx) => {
      if (change.kind === 'set') {
        const leftMs = change.endsAt === null ? null : change.endsAt - monotonic();
        await setOverlay(database, { ...change, leftMs, expiresAt: null }, { trx });
      } else {
        const { layer, key } = change;
        const obsId = change.kind === 'expire' ? change.obsId : undefined;
        const removed = await removeOverlay(database, { layer, key, obsId }, { trx });
        // Another process deleted the row, and audits the expiry.
        if (change.kind === 'expire' && !removed) return;
      }
      await insertRows(database, controlTable, entries.map(controlRow), { trx });
      await database.notify(overlayChannel, '', { trx });
    });
  }
}
