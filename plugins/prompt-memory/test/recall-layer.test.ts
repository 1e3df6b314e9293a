import { expect } from 'chai';
import { estimateTokens } from 'mortise/contracts/models';
import { readMemories, recallLayer } from '../recall-layer.js';

const memory = (content: string) => ({ content, kind: null, space: null, createdAt: null });

describe('the layer of recalled memories', () => {
  it('does not exist without memories', () => {
    expect(recallLayer([], 800)).to.equal(undefined);
  });

  it('shows each memory in one line, with where it comes from', () => {
    const one = { content: 'Uses\ntabs.', kind: 'PREFERENCE', space: 'team:red', createdAt: '2026-02-24T08:00:00Z' };
    const layer = recallLayer([one, memory('Likes tea.')], 800);
    expect(layer).to.include({ name: 'memory_recall_system', role: 'system', source: 'runtime://memories' });
    expect(layer?.content.split('\n').slice(2)).to.deep.equal([
      '- [2026-02-24, PREFERENCE, team:red] Uses tabs.',
      '- Likes tea.',
    ]);
  });

  it('stays within its budget, and uses shorter memories after one that is too long', () => {
    const long = memory('word '.repeat(119).trim());
    const budget = 100;
    const layer = recallLayer([memory('first'), long, memory('last')], budget);
    expect(layer?.content).to.contain('- first\n- last');
    expect(estimateTokens(layer?.content ?? '')).to.be.at.most(budget);
    expect(recallLayer([long], budget)).to.equal(undefined);
  });

  it('cuts a very long memory', () => {
    const line =
      recallLayer([memory('🦫'.repeat(700))], 20_000)
        ?.content.split('\n')
        .at(-1) ?? '';
    expect([...line]).to.have.length(2 + 600 + 3);
  });

  it('ignores what is no memory', () => {
    expect(readMemories({ results: [null, 7, { content: ' ' }, { content: 7 }, { content: 'x' }] })).to.deep.equal([
      memory('x'),
    ]);
    expect(readMemories({ ok: false })).to.deep.equal([]);
  });
});
