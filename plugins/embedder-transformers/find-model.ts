import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathBelow } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { transformersError } from './errors.js';
import type { ThreadModel } from './model-thread.js';

const libraries = ['onnxruntime-web', '@huggingface/tokenizers'];

/** @throws MortiseError `embedder_library_missing` */
export function requireLibraries(find: (name: string) => string = (name) => import.meta.resolve(name)): void {
  for (const name of libraries) {
    try {
      find(name);
    } catch {
      throw transformersError('embedder_library_missing', `${name} was not found.`);
    }
  }
}

/** The files of the configured model. @throws MortiseError `embedder_model_missing` */
export function findModel({ model_folder, model_file, pooling, max_tokens, threads }: Config): ThreadModel {
  if (model_folder === undefined) throw transformersError('embedder_model_missing', 'model_folder is not set.');
  const folder = resolve(model_folder);
  const model = resolve(folder, model_file);
  if (pathBelow(folder, model) === undefined) {
    throw transformersError('embedder_model_missing', 'model_file is outside of the folder.');
  }
  const tokenizer = join(folder, 'tokenizer.json');
  for (const file of [tokenizer, model]) {
    if (!existsSync(file)) throw transformersError('embedder_model_missing', `There is no file ${file}.`);
  }
  const config = join(folder, 'tokenizer_config.json');
  const tokenizerConfig = existsSync(config) ? config : undefined;
  return { tokenizer, tokenizerConfig, model, pooling, maxTokens: max_tokens, threads };
}

/** A name that changes with everything that changes the vectors. */
export async function nameModel(
  { tokenizer, tokenizerConfig, model, pooling, maxTokens }: ThreadModel,
  { model_folder = '', query_prefix, document_prefix }: Config,
): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [tokenizer, tokenizerConfig, model]) {
    if (file !== undefined) await pipeline(createReadStream(file), hash, { end: false });
  }
  hash.update(JSON.stringify([pooling, maxTokens, query_prefix, document_prefix]));
  return `${basename(resolve(model_folder))}-${hash.digest('hex').slice(0, 16)}`;
}
