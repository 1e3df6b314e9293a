import { type CallContext, MortiseError } from 'mortise/sdk';

export interface EmbedderFacts {
  readonly dimensions: number;
  /** Changes when vectors of the same text would change. */
  readonly model: string;
  /** Texts of one call; 32 when absent. */
  readonly maxBatch?: number;
  /** Longer texts are cut by the caller; 8,000 when absent. */
  readonly maxInputCharacters?: number;
}

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** What the texts are: some models embed queries and documents differently. */
  readonly kind: 'query' | 'document';
}

export interface Embedder extends EmbedderFacts {
  /** One vector of `dimensions` numbers per text, in order; of any length, because the caller normalises. */
  embed(
    request: EmbedRequest,
    ctx: CallContext,
  ): Promise<readonly (Float32Array | readonly number[])[]> | readonly (Float32Array | readonly number[])[];
}

const defaults = { maxBatch: 32, maxInputCharacters: 8_000 };

/** The limits of an embedder, with their defaults. */
export function embedderLimits(facts: EmbedderFacts): typeof defaults {
  return {
    maxBatch: facts.maxBatch ?? defaults.maxBatch,
    maxInputCharacters: facts.maxInputCharacters ?? defaults.maxInputCharacters,
  };
}

/** A text that is not longer than an embedder accepts, without half of a surrogate pair at its end. */
export function cutInput(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/u, '');
}

/**
 * The vectors of an embedder, scaled to unit length.
 *
 * @throws MortiseError `embedder_invalid` unless there is one vector of finite numbers per text
 */
export function unitVectors(made: unknown, count: number, dimensions: number): readonly Float32Array[] {
  if (!Array.isArray(made) || made.length !== count) throw invalid(dimensions);
  return made.map((vector: unknown) => {
    if (!(vector instanceof Float32Array) && !Array.isArray(vector)) throw invalid(dimensions);
    if (vector.length !== dimensions) throw invalid(dimensions);
    // JSON has null for NaN.
    if (Array.isArray(vector) && !vector.every((value) => typeof value === 'number')) throw invalid(dimensions);
    const unit = Float32Array.from(vector as Iterable<number>);
    let square = 0;
    for (const value of unit) square += value * value;
    if (!Number.isFinite(square)) throw invalid(dimensions);
    const length = Math.sqrt(square);
    return length === 0 ? unit : unit.map((value) => value / length);
  });
}

function invalid(dimensions: number): MortiseError {
  return new MortiseError('embedder_invalid', `The embedder did not give ${dimensions} finite numbers for each text.`, {
    status: 502,
  });
}
