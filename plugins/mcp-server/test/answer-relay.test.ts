import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { createAnswerRelay } from '../sessions/answer-relay.js';
import { answerTimeoutMs, createClientRequests } from '../sessions/open-requests.js';
import type { Storage } from '../storage.js';
import { testSession as session, silentLog } from './support.js';

const body = { jsonrpc: '2.0', result: { roots: [] } };
const inventedId = (n: number) => `srv-${n.toString(16).padStart(24, '0')}`;

describe('answers that reach another replica', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let database: Database;
    before(async () => {
      const probe = databaseProbe(['logbook']);
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
      database = probe.database;
    });
    after(() => host.stop());

    /** A replica that receives no signals. */
    const replica = (now = 0) => {
      const requests = createClientRequests();
      const replicas = {
        notify: async () => {},
        on: () => ({ dispose: () => {} }),
        listen: async () => ({ dispose: () => {} }),
      };
      const storage: Storage = {
        database: async () => database,
        withDatabase: (work) => work(database),
        explain: (error) => error,
      };
      return { requests, relay: createAnswerRelay({ storage, replicas, requests, log: silentLog, now: () => now }) };
    };
    const rows = async () =>
      (await database.statement<{ n: number }>('select count(*) as n from {logbook.mcp_answers}')).rows[0]?.n;

    if (engine.dialect === 'sqlite') {
      it('are dropped on SQLite, whose one process no longer waits for them', async () => {
        await replica().relay.forward(session.id, inventedId(1), body);
        expect(await rows()).to.equal(0);
      });
      return;
    }

    it('are delivered to the replica that asked, also without a signal', async () => {
      const [asking, other] = [replica(), replica()];
      let id = '';
      const send = (json: string) => {
        id = (JSON.parse(json) as { id: string }).id;
      };
      const answer = asking.requests.ask(session, send, { method: 'roots/list' }, new AbortController().signal);
      await other.relay.forward(session.id, id, { ...body, id });
      await other.relay.poll();
      expect(await rows()).to.equal(1);
      await asking.relay.poll();
      expect(await answer).to.deep.equal({ roots: [] });
      expect(await rows()).to.equal(0);
    });

    it('are dropped when no replica can be waiting for them', async () => {
      await replica().relay.forward(session.id, '7', body);
      expect(await rows()).to.equal(0);
    });

    it('are limited per session, and deleted when they are not delivered', async () => {
      const { relay } = replica();
      for (let n = 0; n < 105; n += 1) await relay.forward(session.id, inventedId(n), body);
      await relay.forward('mcps_b', inventedId(1), body);
      expect(await rows()).to.equal(101);
      await replica(answerTimeoutMs).relay.sweep();
      expect(await rows()).to.equal(101);
      await replica(answerTimeoutMs + 1).relay.sweep();
      expect(await rows()).to.equal(0);
    });
  });
});
