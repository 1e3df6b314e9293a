import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { embedderContract } from 'mortise/contracts/text-analysis/testing';
import { createTestHost, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { requireLibraries } from '../find-model.js';
import { poolTokens } from '../pool-tokens.js';
import { writeTinyModel } from './tiny-model.js';

type Settings = Readonly<Record<string, unknown>>;

function start(folder: string, settings: Settings = {}): Promise<TestHost> {
  const config = { 'embedder-transformers': { model_folder: folder, ...settings } };
  return createTestHost({
    plugins: ['embedder-transformers'],
    mayFail: ['embedder-transformers'],
    listen: false,
    config,
  });
}

function embed(
  host: TestHost,
  texts: readonly string[],
  kind: 'query' | 'document' = 'document',
  signal?: AbortSignal,
) {
  return host.points.call('embedder', 'transformers', (embedder, ctx) => embedder.embed({ texts, kind }, ctx), {
    ...(signal && { signal }),
  });
}

const rounded = (vectors: readonly (Float32Array | readonly number[])[]) =>
  vectors.map((vector) => Array.from(vector, (value) => Number(value.toFixed(4))));

const tiny = temporaryFolder('tiny-model');
writeTinyModel(tiny);

embedderContract('the embedder of a local model', {
  host: () =>
    createTestHost({ plugins: ['embedder-transformers'], config: { 'embedder-transformers': { model_folder: tiny } } }),
  key: 'transformers',
});

describe('the embedder of a local model', () => {
  const using = async (settings: Settings, use: (host: TestHost) => Promise<void>): Promise<void> => {
    const host = await start(tiny, settings);
    try {
      await use(host);
    } finally {
      await host.stop();
    }
  };
  const factsOf = (host: TestHost) => host.points.list('embedder').find(({ key }) => key === 'transformers')?.facts;

  it('gives the mean of the vectors of the tokens', () =>
    using({}, async (host) => {
      expect(factsOf(host)?.dimensions).to.equal(3);
      const vectors = await embed(host, ['harbour ship', 'Boat boat', 'bread']);
      expect(rounded(vectors)).to.deep.equal([
        [0.5, 0.5, 0],
        [0, 1, 0],
        [0, 0, 1],
      ]);
    }));

  it('uses the pooling and the prefixes of the settings, and cuts long texts', () =>
    using({ pooling: 'last', query_prefix: 'bread ', document_prefix: 'ship ', max_tokens: 8 }, async (host) => {
      expect(rounded(await embed(host, ['harbour'], 'query'))).to.deep.equal([[1, 0, 0]]);
      expect(rounded(await embed(host, [`${'ship '.repeat(10_000)} bread`]))).to.deep.equal([[0, 0, 1]]);
    }));

  it('embeds queries and documents with their own prefix', () =>
    using({ pooling: 'first', query_prefix: 'bread ', document_prefix: 'ship ' }, async (host) => {
      expect(rounded(await embed(host, ['harbour'], 'query'))).to.deep.equal([[0, 0, 1]]);
      expect(rounded(await embed(host, ['harbour']))).to.deep.equal([[0, 1, 0]]);
    }));

  it('has a name that changes with its files and settings', async () => {
    const names: unknown[] = [];
    const keep = async (host: TestHost) => void names.push(factsOf(host)?.model);
    for (const settings of [{}, {}, { pooling: 'first' }, { query_prefix: 'q ' }]) await using(settings, keep);
    expect(names[0]).to.equal(names[1]);
    expect(new Set(names).size).to.equal(3);
  });

  it('stops waiting when a call is aborted, and answers the next one', () =>
    using({}, async (host) => {
      const abort = new AbortController();
      const cut = embed(
        host,
        Array.from({ length: 500 }, () => 'harbour '.repeat(500)),
        'document',
        abort.signal,
      );
      abort.abort();
      expect(await cut.catch((error: unknown) => (error as Error).name)).to.be.a('string');
      expect(rounded(await embed(host, ['bread']))).to.deep.equal([[0, 0, 1]]);
    }));

  const faults: readonly [string, (folder: string) => void, string][] = [
    ['without a tokenizer', (folder) => rmSync(join(folder, 'tokenizer.json')), 'embedder_model_missing'],
    ['without the model', (folder) => rmSync(join(folder, 'onnx', 'model.onnx')), 'embedder_model_missing'],
    [
      'with a damaged model',
      (folder) => writeFileSync(join(folder, 'onnx', 'model.onnx'), 'no model'),
      'embedder_model_invalid',
    ],
    [
      'with a damaged tokenizer',
      (folder) => writeFileSync(join(folder, 'tokenizer.json'), '{'),
      'embedder_model_invalid',
    ],
    ['with a model for other inputs', (folder) => writeTinyModel(folder, 'pixel_values'), 'embedder_model_invalid'],
  ];
  for (const [what, damage, code] of faults) {
    it(`does not start ${what}, and says why`, async () => {
      const folder = temporaryFolder('bad-model');
      writeTinyModel(folder);
      damage(folder);
      const host = await start(folder);
      try {
        const row = host.control.list().find(({ key }) => key === 'embedder-transformers');
        expect([row?.state, row?.code]).to.deep.equal(['failed', code]);
        expect(row?.hint).to.include('model');
      } finally {
        await host.stop();
      }
    });
  }

  it('names the command that installs missing libraries', () => {
    const missing = () => {
      throw new Error('not found');
    };
    expect(() => requireLibraries(missing))
      .to.throw('not installed')
      .with.property('code', 'embedder_library_missing');
    expect(() => requireLibraries()).not.to.throw();
  });
});

describe('pooling', () => {
  it('accepts vectors that the model has pooled, and rejects other forms', () => {
    expect([...(poolTokens({ data: Float32Array.from([1, 2]), dims: [1, 2] }, 'mean') ?? [])]).to.deep.equal([1, 2]);
    expect(poolTokens({ data: Float32Array.from([1, 2]), dims: [2] }, 'mean')).to.equal(undefined);
    expect(poolTokens({ data: new Float32Array(8), dims: [2, 2, 2] }, 'mean')).to.equal(undefined);
  });
});
