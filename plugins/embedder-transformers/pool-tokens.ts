/** How the vectors of tokens become the vector of a text. */
export type Pooling = 'mean' | 'first' | 'last';

/** An output of a model: numbers with their dimensions. */
export interface Output {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/**
 * The vector of one text from the output for it: `[1, dimensions]`, which is pooled already, or
 * `[1, tokens, dimensions]`. Undefined for an output of another form.
 */
export function poolTokens({ data, dims }: Output, pooling: Pooling): Float32Array | undefined {
  const [batch, ...rest] = dims;
  const dimensions = rest.at(-1) ?? 0;
  if (batch !== 1 || dimensions === 0) return undefined;
  if (rest.length === 1) return data.slice(0, dimensions);
  const tokens = rest.length === 2 ? (rest[0] ?? 0) : 0;
  if (tokens === 0) return undefined;
  if (pooling !== 'mean') {
    const from = pooling === 'first' ? 0 : (tokens - 1) * dimensions;
    return data.slice(from, from + dimensions);
  }
  const vector = new Float32Array(dimensions);
  for (let at = 0; at < tokens * dimensions; at += 1) {
    const place = at % dimensions;
    vector[place] = (vector[place] ?? 0) + (data[at] ?? 0) / tokens;
  }
  return vector;
}
