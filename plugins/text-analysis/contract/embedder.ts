import type { CallContext } from 'mortise/sdk';

export interface EmbedderFacts {
  readonly dimensions: number;
  /** Changes when vectors of the same text would change. */
  readonly version: string;
}

export interface Embedder extends EmbedderFacts {
  /** One vector of `dimensions` numbers per text, in order. */
  embed(texts: readonly string[], ctx: CallContext): Promise<readonly Float32Array[]>;
}
