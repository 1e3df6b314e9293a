import { readFile } from 'node:fs/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { Tokenizer } from '@huggingface/tokenizers';
import { env, InferenceSession, Tensor } from 'onnxruntime-web';
import { type Output, type Pooling, poolTokens } from './pool-tokens.js';

/** What the thread loads. */
export interface ThreadModel {
  readonly tokenizer: string;
  /** Absent for the defaults of the tokenizer. */
  readonly tokenizerConfig: string | undefined;
  readonly model: string;
  readonly pooling: Pooling;
  readonly maxTokens: number;
  readonly threads: number;
}

export interface ThreadRequest {
  readonly id: number;
  readonly text: string;
}

export type ThreadReply =
  | { readonly id: number; readonly vector: Float32Array }
  | { readonly id: number; readonly failed: string };

const { tokenizer: tokenizerFile, tokenizerConfig, model, pooling, maxTokens, threads } = workerData as ThreadModel;

async function load() {
  const json = async (file: string): Promise<object> => JSON.parse(await readFile(file, 'utf8')) as object;
  env.wasm.numThreads = threads;
  env.logLevel = 'error';
  const tokenizer = new Tokenizer(
    await json(tokenizerFile),
    tokenizerConfig === undefined ? {} : await json(tokenizerConfig),
  );
  return { tokenizer, session: await InferenceSession.create(await readFile(model)) };
}

function tokenIds(tokenizer: Tokenizer, text: string): readonly number[] {
  const { ids } = tokenizer.encode(text);
  // The last token of a cut text remains the one that ends it.
  return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ...ids.slice(-1)];
}

function inputOf(name: string, ids: readonly number[]): Tensor {
  const values: Readonly<Record<string, (id: number, place: number) => number>> = {
    input_ids: (id) => id,
    attention_mask: () => 1,
    token_type_ids: () => 0,
    position_ids: (_, place) => place,
  };
  const value = values[name];
  if (value === undefined) throw new Error(`It requires the input ${name}.`);
  return new Tensor(
    'int64',
    BigInt64Array.from(ids, (id, place) => BigInt(value(id, place))),
    [1, ids.length],
  );
}

async function embed({ tokenizer, session }: Awaited<ReturnType<typeof load>>, text: string): Promise<Float32Array> {
  const ids = tokenIds(tokenizer, text);
  if (ids.length === 0) throw new Error('The tokenizer returned no tokens.');
  const outputs = await session.run(Object.fromEntries(session.inputNames.map((name) => [name, inputOf(name, ids)])));
  const output = outputs.sentence_embedding ?? outputs.last_hidden_state ?? outputs[session.outputNames[0] ?? ''];
  const vector = output?.type === 'float32' ? poolTokens(output as unknown as Output, pooling) : undefined;
  if (vector === undefined) throw new Error('Its output is not one vector per token.');
  return vector;
}

const loaded = load();
// Reported with each request.
loaded.catch(() => {});

parentPort?.on('message', async ({ id, text }: ThreadRequest) => {
  try {
    const vector = await embed(await loaded, text);
    parentPort?.postMessage({ id, vector } satisfies ThreadReply, [vector.buffer as ArrayBuffer]);
  } catch (error) {
    parentPort?.postMessage({
      id,
      failed: error instanceof Error ? error.message : String(error),
    } satisfies ThreadReply);
  }
});
