import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

export interface EmbedderFacts {
  readonly dimensions: number;
  /** Changes when vectors of the same text would change. */
  readonly version: string;
}

export interface Embedder extends EmbedderFacts {
  /** One vector of `dimensions` numbers per text, in order. */
  embed(texts: readonly string[], ctx: CallContext): Promise<readonly Float32Array[]>;
}

export const embedderPoint: ExtensionPointDeclaration = {
  name: 'embedder',
  summary: 'Turns texts into vectors; one bound key.',
  dispatch: 'selected',
  factsSchema: {
    type: 'object',
    required: ['dimensions', 'version'],
    properties: { dimensions: { type: 'integer', minimum: 1 }, version: { type: 'string', minLength: 1 } },
  },
  functions: ['embed'],
  timeoutMs: 30_000,
  failure: 'keyword search plus an audit row',
};
