import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A field of a protobuf message: its number, and a number, text, bytes or several fields. */
type Field = readonly [number, number | string | Uint8Array | readonly Field[]];

function varint(value: number): number[] {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return [...bytes, left];
}

function protobuf(fields: readonly Field[]): Uint8Array {
  const bytes = fields.flatMap(([number, value]) => {
    if (typeof value === 'number') return [...varint(number * 8), ...varint(value)];
    const content =
      typeof value === 'string' ? Buffer.from(value) : value instanceof Uint8Array ? value : protobuf(value);
    return [...varint(number * 8 + 2), ...varint(content.length), ...content];
  });
  return Uint8Array.from(bytes);
}

const [float, int64] = [1, 7];

/** The description of an input or output with one text. */
function tensor(name: string, type: number, dimensions: readonly (string | number)[]): readonly Field[] {
  const shape = dimensions.map((size): Field => [1, [typeof size === 'number' ? [1, size] : [2, size]]]);
  return [
    [1, name],
    [
      2,
      [
        [
          1,
          [
            [1, type],
            [2, shape],
          ],
        ],
      ],
    ],
  ];
}

/** An ONNX model that looks up a vector for each token. */
function onnxModel(vectors: readonly (readonly number[])[], input: string): Uint8Array {
  const dimensions = vectors[0]?.length ?? 0;
  const table: readonly Field[] = [
    [1, vectors.length],
    [1, dimensions],
    [2, float],
    [8, 'table'],
    [9, new Uint8Array(Float32Array.from(vectors.flat()).buffer)],
  ];
  const gather: readonly Field[] = [
    [1, 'table'],
    [1, input],
    [2, 'last_hidden_state'],
    [4, 'Gather'],
  ];
  return protobuf([
    [1, 8],
    [
      7,
      [
        [1, gather],
        [2, 'tiny'],
        [5, table],
        [11, tensor(input, int64, [1, 'tokens'])],
        [12, tensor('last_hidden_state', float, [1, 'tokens', dimensions])],
      ],
    ],
    [8, [[2, 13]]],
  ]);
}

/** The words of the tiny model with their vectors; other words have the vector of `[UNK]`. */
const words: Readonly<Record<string, readonly number[]>> = {
  '[UNK]': [0.1, 0.1, 0.1],
  harbour: [1, 0, 0],
  ship: [0, 1, 0],
  boat: [0, 1, 0],
  bread: [0, 0, 1],
};

/** Writes a model with a word tokenizer. @param input name of the input of the model */
export function writeTinyModel(folder: string, input = 'input_ids'): void {
  const vocab = Object.fromEntries(Object.keys(words).map((word, id) => [word, id]));
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Whitespace' },
    post_processor: null,
    decoder: null,
    model: { type: 'WordLevel', vocab, unk_token: '[UNK]' },
  };
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ unk_token: '[UNK]' }));
  writeFileSync(join(folder, 'onnx', 'model.onnx'), onnxModel(Object.values(words), input));
}
