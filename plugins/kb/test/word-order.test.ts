import { expect } from 'chai';
import { createKbHost, type KbHost, wrongExplanations } from 'mortise/contracts/kb/testing';

describe('words of a query that are near one another', () => {
  let kb: KbHost;
  // The same words as often, at other distances.
  const near = 'The boundary layer was measured again. Nothing else about the surface of that wing is known.';
  const far = 'The boundary was measured again. Nothing else about the surface of that wing layer is known.';
  const filler = 'Shock waves and heat transfer are described here.';
  before(async () => {
    kb = await createKbHost({
      'a.md': `# First\n\n${far}\n`,
      'b.md': `# Second\n\n${near}\n`,
      'c.md': `# Third\n\n${filler}\n`,
      'd.md': '# 边界\n\n边界很长，没有层。\n',
    });
    await kb.refresh();
  });
  after(() => kb.stop());

  const search = async (query: string) => (await kb.search(query)).results;

  it('rank a passage above one that has them apart', async () => {
    const [first, second] = await search('boundary layer');
    expect([first?.path, second?.path]).to.deep.equal(['b.md', 'a.md']);
    const [nearer, farther] = [first?.explanation?.parts, second?.explanation?.parts];
    expect(nearer?.bm25).to.equal(farther?.bm25);
    expect(nearer?.phrase).to.be.greaterThan(farther?.phrase ?? Number.NaN);
  });

  it('count in both orders, and not for one word', async () => {
    const [first] = await search('layer boundary');
    expect(first?.path).to.equal('b.md');
    const [alone] = await search('boundary');
    expect(alone?.explanation?.parts.phrase).to.equal(0);
  });

  it('add to the part of a quoted phrase', async () => {
    const [quoted] = await search('"boundary layer"');
    const [plain] = await search('boundary layer');
    expect(quoted?.explanation?.parts.phrase).to.be.greaterThan(plain?.explanation?.parts.phrase ?? Number.NaN);
  });

  it('keep explanations that add up', async () => {
    for (const query of ['boundary layer of a wing', '边界 层']) {
      const answer = await kb.search(query);
      expect(answer.results).not.to.have.length(0);
      expect(wrongExplanations(answer)).to.deep.equal([]);
    }
  });
});
