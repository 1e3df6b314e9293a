import { expect } from 'chai';
import { cosine } from 'mortise/contracts/text-analysis';
import { embedderContract } from 'mortise/contracts/text-analysis/testing';
import { createTestHost } from 'mortise/sdk/testing';

embedderContract('the hashed embedder', {
  host: () => createTestHost({ plugins: ['embedder-hashed'] }),
  key: 'hashed',
});

describe('the hashed embedder', () => {
  it('gives related texts similar vectors of unit length', async () => {
    const host = await createTestHost({ plugins: ['embedder-hashed'], listen: false });
    try {
      const texts = ['the cache is rebuilt after an upgrade', 'rebuilding caches after upgrades', '港口六点开门'];
      const vectors = await host.points.call('embedder', 'hashed', (embedder, ctx) =>
        embedder.embed({ texts, kind: 'document' }, ctx),
      );
      const [one, related, other] = vectors.map((vector) => Float32Array.from(vector));
      expect(cosine(one as Float32Array, one as Float32Array)).to.be.closeTo(1, 1e-6);
      expect(cosine(one as Float32Array, related as Float32Array)).to.be.greaterThan(0.4);
      expect(cosine(one as Float32Array, other as Float32Array)).to.be.lessThan(0.2);
    } finally {
      await host.stop();
    }
  });
});
