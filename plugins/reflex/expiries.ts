import type { GateLayer, GateOverrideKey } from 'mortise/contracts/gate';
import type { Cause } from './cause.js';
import { overlayName } from './overlays/overlay.js';

/** An override that ends by itself, and what asked for it. */
export interface Expiry {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  /** Monotonic milliseconds. */
  readonly at: number;
  /** Null when another process knows it. */
  readonly ttlSec: number | null;
  readonly cause: Cause;
}

export interface ExpiryPorts {
  readonly monotonic: () => number;
  /** Runs something once, later; returns how to take it back. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly expired: (expiry: Expiry) => void;
}

/** One timer for the earliest end: overrides end without anything coming by. */
export class Expiries {
  readonly #ports: ExpiryPorts;
  readonly #entries = new Map<string, Expiry>();
  #cancel: (() => void) | undefined;

  constructor(ports: ExpiryPorts) {
    this.#ports = ports;
  }

  set(expiry: Expiry): void {
    this.#entries.set(overlayName(expiry), expiry);
    this.#arm();
  }

  drop(layer: GateLayer, key: GateOverrideKey): void {
    if (this.#entries.delete(overlayName({ layer, key }))) this.#arm();
  }

  close(): void {
    this.#cancel?.();
    this.#entries.clear();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const next = [...this.#entries.values()].reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
    if (next === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#ports.after(Math.max(next - this.#ports.monotonic(), 0), () => this.#fire());
  }

  #fire(): void {
    const now = this.#ports.monotonic();
    for (const [name, expiry] of this.#entries) {
      if (expiry.at > now) continue;
      this.#entries.delete(name);
      this.#ports.expired(expiry);
    }
    this.#arm();
  }
}
