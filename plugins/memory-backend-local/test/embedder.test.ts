import { expect } from 'chai';
import type { Embedder } from 'mortise/contracts/text-analysis';
import type { PluginDefinition } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestEngine, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

const words = ['harbour', 'ship', 'boat', 'bread'];
/** Boats are ships to it. */
const meaning = (text: string): Float32Array => {
  const counts = words.map((word) => text.toLowerCase().split(word).length - 1);
  const [harbour = 0, ship = 0, boat = 0, bread = 0] = counts;
  return Float32Array.from([harbour, ship + boat, bread]);
};

const memories = [
  'In the harbour there is fresh bread, bread and more bread.',
  'A boat lies in the harbour.',
  'The harbour opens at six, and the harbour master is never there before seven.',
];
const query = 'harbour ship';

describe('an embedder in addition to words', () => {
  eachDatabase((engine: TestEngine) => {
    let host: TestHost;
    let embedded: string[];
    let embed: Embedder['embed'];

    const embedder: Embedder = {
      dimensions: 3,
      model: '1',
      embed: (request, ctx) => embed(request, ctx),
    };
    const definition: PluginDefinition = {
      key: 'embedder-probe',
      register: (own) => void own.contribute('embedder', 'probe', embedder),
    };
    const plugin: TestPlugin = {
      manifest: { key: 'embedder-probe', contributes: { embedder: ['probe'] } },
      definition,
    };

    beforeEach(async () => {
      embedded = [];
      embed = async ({ texts }) => {
        embedded.push(...texts);
        return texts.map(meaning);
      };
      host = await createTestHost({
        plugins: ['memory-gateway', 'memory-backend-local'],
        database: engine.env,
        env: { MORTISE_MEMORY_EMBEDDER: 'probe', MORTISE_OPENMEMORY_QUERY_TIMEOUT_MS: '1000' },
        extra: [plugin],
      });
      for (const payload_md of memories) await host.post('/memory/store', { payload_md, target_space: 'private:a' });
    });
    afterEach(() => host.stop());

    const ask = async (more: Json = {}) => {
      const response = await host.post('/memory/query', { query, spaces: ['private:a'], ...more });
      const body = (await response.json()) as Json & { readonly results: readonly Json[] };
      expect(body).to.deep.include({ ok: true, degraded: false });
      return body.results;
    };
    const order = async () => (await ask()).map(({ content }) => memories.indexOf(String(content)));
    const audits = async () =>
      (await host.service('audit').query({ reasonPrefix: 'memory-backend-local:' })).rows.map(({ reason }) => reason);

    it('ranks by meaning first, and explains it', async () => {
      const hits = await ask({ filters: { explain: true } });
      expect(hits[0]?.content).to.equal(memories[1]);
      for (const { score, explain } of hits) {
        const { lexical, vector } = explain as Record<string, number>;
        expect(0.5 * Number(lexical) + 0.5 * Number(vector)).to.be.closeTo(Number(score), 1e-6);
      }
      const high = await ask({ filters: { min_score: 0.6 } });
      expect(high.every(({ score }) => Number(score) >= 0.6)).to.equal(true);
      expect(high.length).to.be.within(1, 2);
    });

    it('is called once for a memory, and for each query', async () => {
      const first = await order();
      expect([...embedded].sort()).to.deep.equal([query, ...memories].sort());
      embedded = [];
      expect(await order()).to.deep.equal(first);
      expect(embedded).to.deep.equal([query]);
    });

    const failures: readonly [string, Embedder['embed']][] = [
      ['throws', () => Promise.reject(new Error('no model'))],
      [
        'hangs',
        (_, { signal }) =>
          new Promise((_done, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ],
      ['gives too few numbers', async ({ texts }) => texts.map(() => new Float32Array(2))],
      ['gives no numbers', async ({ texts }) => texts.map(() => Float32Array.from([Number.NaN, 0, 0]))],
      ['gives too few vectors', async () => []],
    ];
    for (const [what, fail] of failures) {
      it(`that ${what} leads to the order of words, with one audit row until it succeeds again`, async () => {
        const good = embed;
        embed = fail;
        const lexical = await order();
        expect(lexical).to.have.length(3);
        expect(await order()).to.deep.equal(lexical);
        expect(await audits()).to.deep.equal(['memory-backend-local:embedder_unavailable']);
        embed = good;
        expect((await order())[0]).to.equal(1);
        embed = fail;
        await order();
        expect(await audits()).to.have.length(2);
      });
    }

    it('is used again after it was disabled', async () => {
      await host.control.disable('embedder-probe');
      expect(await order()).to.have.length(3);
      expect(await audits()).to.have.length(1);
      await host.control.enable('embedder-probe');
      expect((await order())[0]).to.equal(1);
    });
  });
});
