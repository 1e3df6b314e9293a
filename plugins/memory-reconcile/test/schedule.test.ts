import { expect } from 'chai';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { startReconcile } from './reconcile-host.js';

describe('reconciling on schedule', () => {
  eachDatabase((engine: TestEngine) => {
    it('fixes and reports discrepancies, in the server', async () => {
      const books = await startReconcile(engine, { env: { MORTISE_RECONCILE_INTERVAL_SECONDS: '1' } });
      const id = await books.insert({ status: 'sent', memory_id: 'om-1' });
      const end = Date.now() + 10_000;
      while ((await books.trail(id)).length === 0 && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await books.trail(id)).to.deep.equal(['allow outbox_flush_success']);
      // The row was made by hand: no store recorded it.
      while (!books.host.logs.join('').includes('gateway.invariant_violation') && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(books.host.logs.join('')).to.contain('gateway.invariant_violation');
      await books.stop();
    });
  });
});
