import { expect } from 'chai';
import { createKbHost, type Json, type KbHost } from 'mortise/contracts/kb/testing';

const filler = (seed: number): string =>
  Array.from({ length: 45 }, (_, index) => `plain${String.fromCharCode(97 + ((seed * 7 + index) % 26))}`).join(' ');

/** One file with more passages about otters than a search shows of it, and others that mention them once. */
function files(): Record<string, string> {
  const sections = Array.from({ length: 8 }, (_, index) => `# Otters ${index}\n\nOtter otter otter. ${filler(index)}`);
  const others = Array.from({ length: 14 }, (_, index) => [
    `other/${index}.md`,
    `# Other ${index}\n\n${filler(index)} otter ${filler(index + 3)}\n`,
  ]);
  return { 'otters.md': sections.join('\n\n'), ...Object.fromEntries(others) };
}

describe('the rank of a passage', () => {
  let kb: KbHost;
  before(async () => {
    kb = await createKbHost(files(), {}, { plugins: ['embedder-hashed'] });
    await kb.refresh();
  });
  after(() => kb.stop());

  const explained = async (id: string): Promise<Json> =>
    (await kb.ask('GET', `/kb/chunks/${id}?query=${encodeURIComponent('otter')}`)).body;

  it('is that of its hit when it is explained', async () => {
    const { results } = await kb.search('otter');
    expect(results.filter(({ path }) => path === 'otters.md')).to.have.length(3);
    for (const { chunk_id: id, rank, score } of results) {
      const { rank: own, explanation } = await explained(id);
      expect([own, explanation.score], id).to.deep.equal([rank, score]);
    }
  });

  it('is below the ranks of the hits when the chunk is not a hit', async () => {
    const hits = new Set((await kb.search('otter')).results.map(({ chunk_id: id }) => id));
    const all = (await kb.search('otter', { top_k: 100 })).results;
    const others = all.filter(({ chunk_id: id }) => !hits.has(id));
    const ranks = await Promise.all(others.map(async ({ chunk_id: id }) => (await explained(id)).rank));
    expect(ranks.sort((a, b) => a - b)).to.deep.equal(others.map((_, index) => 11 + index));
  });

  it('belongs to one page, and every passage is on one', async () => {
    const pages = [];
    for (const offset of [0, 5, 10, 15, 20]) pages.push((await kb.search('otter', { top_k: 5, offset })).results);
    expect(pages.flat().map(({ rank }) => rank)).to.deep.equal(Array.from({ length: 22 }, (_, index) => index + 1));
    expect(new Set(pages.flat().map(({ chunk_id: id }) => id)).size).to.equal(22);
  });

  it('is the one after reordering by vectors where they are in use', async () => {
    await kb.host.control.patchConfig('kb', { rerank: { enabled: true, alpha: 0.9 } });
    await kb.refresh({ mode: 'full' });
    const { results, mode } = await kb.search('otter');
    expect(mode).to.equal('hybrid');
    for (const { chunk_id: id, rank } of results) {
      const { rank: own, explanation } = await explained(id);
      expect([own, explanation.final_rank], id).to.deep.equal([rank, rank]);
    }
  });
});
