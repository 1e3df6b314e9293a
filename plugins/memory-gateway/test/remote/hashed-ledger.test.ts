import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type RemoteHost, startRemote } from './remote-host.js';

describe('a ledger that keeps only hashes', () => {
  eachDatabase((engine: TestEngine) => {
    let remote: RemoteHost;
    beforeEach(async () => {
      remote = await startRemote(engine, { env: { MORTISE_LEDGER: 'hash' } });
      for (const text of ['First', 'Second']) await remote.store({ payload_md: text, target_space: 'private:a' });
    });
    afterEach(() => remote.stop());

    const newest = async () => (await remote.query({ query: ' ', spaces: ['private:a'] })).body;
    const texts = ({ results }: Json) => (results as readonly { content: string }[]).map(({ content }) => content);

    it('reads the texts of the newest memories from the backend', async () => {
      const all = await newest();
      expect(texts(all)).to.deep.equal(['Second', 'First']);
      expect(all).to.deep.include({ ok: true, total: 2, message: null, degraded: false });
    });

    it('reports which memories the backend could not show', async () => {
      remote.server.lose('om-1');
      const some = await newest();
      expect(texts(some)).to.deep.equal(['Second']);
      expect(some.message).to.contain('1 of the newest memories has no text in the ledger');
      await remote.server.stop();
      const none = await newest();
      expect(none).to.deep.include({ ok: true, results: [], degraded: true });
      expect(none.message).to.match(/^Degraded query .*; 2 of the newest memories have no text in the ledger\.$/);
    });
  });
});
