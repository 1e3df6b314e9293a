import type { GateLayer, GateLayerEntry, GateOverrideKey } from 'mortise/contracts/gate';

/** An override as all processes see it. */
export interface Overlay {
  readonly layer: GateLayer;
  readonly key: GateOverrideKey;
  readonly value: GateLayerEntry['value'];
  /** Milliseconds until it ends, by the clock of the database; null = until cleared. */
  readonly leftMs: number | null;
  /** Epoch milliseconds, for people. */
  readonly expiresAt: number | null;
  readonly reason: string | null;
  /** Of the observation that asked for it: every change has its own. */
  readonly obsId: string | null;
}

/** The name under which an override is known. */
export function overlayName({ layer, key }: Pick<Overlay, 'layer' | 'key'>): string {
  return `${layer} ${key}`;
}
