import { createDrain, type Database, type Disposable } from 'mortise/sdk';
import { overlayChannel } from './control-store.js';
import { type Overlay, readOverlays } from './overlay-store.js';

/** Polling interval of stored overrides, for missed notifications, milliseconds. */
export const lookEveryMs = 5_000;

interface SharedOverlaysDeps {
  readonly database: Database;
  readonly adopt: (overlays: readonly Overlay[]) => void;
  /** Grows with every change that this process makes. */
  readonly revision: () => number;
  readonly failed: (error: unknown) => void;
}

/** Adopts the overrides that other processes store, one read at a time. */
export class SharedOverlays {
  readonly #deps: SharedOverlaysDeps;
  readonly #looking = createDrain(() => this.#read());
  #listening: Disposable | undefined;

  constructor(deps: SharedOverlaysDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    const look = (): void => void this.look();
    this.#listening = await this.#deps.database.listen(overlayChannel, look, { missed: look });
    await this.look();
  }

  /** Never rejects. A change during a read causes another read. */
  look(): Promise<void> {
    this.#looking.request();
    return this.#looking.idle();
  }

  async close(): Promise<void> {
    await this.#listening?.dispose();
    await this.#looking.idle();
  }

  async #read(): Promise<void> {
    const { database, revision, adopt, failed } = this.#deps;
    try {
      const before = revision();
      const overlays = await readOverlays(database);
      // What was read may be older than what this process has set meanwhile.
      if (revision() === before) adopt(overlays);
      else this.#looking.request();
    } catch (error) {
      failed(error);
    }
  }
}
