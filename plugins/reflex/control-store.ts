import { createDrain, type Database, insertRows } from 'mortise/sdk';
import { type ControlEntry, controlRow, controlTable } from './control-entry.js';
import { type Overlay, overlayName } from './overlays/overlay.js';
import { removeOverlay } from './overlays/remove-overlay.js';
import { setOverlay } from './overlays/set-overlay.js';

type Place = Pick<Overlay, 'layer' | 'key'>;

/** What a change does to the overrides that processes share. */
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
  /** Its time is up in every process that knows of it; the one that takes it off notes it. */
  | (Place & { readonly kind: 'expire'; readonly obsId: string });

/** What one change leaves behind. */
export interface ControlWrite {
  readonly entries: readonly ControlEntry[];
  readonly overlay?: OverlayChange | undefined;
}

export interface ControlStorePorts {
  readonly database: Database;
  /** Whether overrides are stored at all. */
  readonly shared: boolean;
  readonly monotonic: () => number;
  readonly failed: (error: unknown) => void;
  /** The stored overrides have changed. */
  readonly overlaysWritten: () => void;
}

/** Channel on which processes tell each other that overrides have changed. */
export const overlayChannel = 'overlays';

const queueLimit = 1_000;
/** Rows of one statement. */
const batchLimit = 100;
/** How long a store that failed is left alone, milliseconds. */
const retryMs = 1_000;

/**
 * Writes what changes leave behind, in order: a change does not wait for the database. While the store is down rows are
 * kept, up to a limit beyond which {@link room} refuses changes: none goes without its row.
 */
export class ControlStore {
  readonly #ports: ControlStorePorts;
  #waiting: ControlWrite[] = [];
  #rows = 0;
  #revision = 0;
  readonly #writing = createDrain(() => this.#writeAll());
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(ports: ControlStorePorts) {
    this.#ports = ports;
  }

  /** Grows with every override that is changed. */
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

  /** Whether a change of this override has not been written yet: what is stored of it is older than what is in force. */
  pending(place: Place): boolean {
    const name = overlayName(place);
    return this.#waiting.some(({ overlay }) => overlay !== undefined && overlayName(overlay) === name);
  }

  /** Resolves when all rows are written, or one more try has failed. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    await this.#writing.idle();
    if (this.#waiting.length > 0) await this.#writeNext().catch(this.#ports.failed);
  }

  async #writeAll(): Promise<void> {
    let overlays = false;
    try {
      while (this.#waiting.length > 0) overlays = (await this.#writeNext()) || overlays;
    } catch (error) {
      this.#ports.failed(error);
      if (this.#closed) return;
      this.#retry = setTimeout(() => {
        this.#retry = undefined;
        this.#writing.request();
      }, retryMs);
      this.#retry.unref();
    }
    if (overlays) this.#ports.overlaysWritten();
  }

  /** @returns whether a stored override has changed */
  async #writeNext(): Promise<boolean> {
    const [first] = this.#waiting;
    if (first && this.#ports.shared && first.overlay) {
      await this.#writeOverlay(first.overlay, first.entries);
      this.#done(1);
      return true;
    }
    const batch = this.#batch();
    const rows = batch.flatMap(({ entries }) => entries).map(controlRow);
    await insertRows(this.#ports.database, controlTable, rows);
    this.#done(batch.length);
    return false;
  }

  /** The next writes that are rows alone. */
  #batch(): readonly ControlWrite[] {
    const end = this.#waiting.findIndex(({ overlay }) => this.#ports.shared && overlay !== undefined);
    return this.#waiting.slice(0, end < 0 ? batchLimit : Math.min(end, batchLimit));
  }

  #done(count: number): void {
    for (const { entries } of this.#waiting.splice(0, count)) this.#rows -= entries.length;
  }

  async #writeOverlay(change: OverlayChange, entries: readonly ControlEntry[]): Promise<void> {
    const { database, monotonic } = this.#ports;
    await database.transaction(async (trx) => {
      if (change.kind === 'set') {
        const leftMs = change.endsAt === null ? null : change.endsAt - monotonic();
        await setOverlay(database, { ...change, leftMs, expiresAt: null }, { trx });
      } else {
        const { layer, key } = change;
        const obsId = change.kind === 'expire' ? change.obsId : undefined;
        const removed = await removeOverlay(database, { layer, key, obsId }, { trx });
        // Another process has been told that its time is up, and notes it.
        if (change.kind === 'expire' && !removed) return;
      }
      await insertRows(database, controlTable, entries.map(controlRow), { trx });
      await database.notify(overlayChannel, '', { trx });
    });
  }
}
