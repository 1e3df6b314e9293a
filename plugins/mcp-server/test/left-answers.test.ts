import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { createClientRequests, patienceMs } from '../sessions/client-requests.js';
import { createLeftAnswers } from '../sessions/left-answers.js';
import type { Session } from '../sessions/session.js';
import { silentLog } from './support.js';

const session: Session = {
  id: 'mcps_a',
  principal: 'local',
  version: '2025-11-25',
  capabilities: { roots: {} },
  logLevel: undefined,
  subscriptions: [],
  expiresAt: 0,
};
const body = { jsonrpc: '2.0', result: { roots: [] } };
const inventedId = (n: number) => `srv-${n.toString(16).padStart(24, '0')}`;

describe('answers that reached another replica', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let database: Database;
    before(async () => {
      const probe = {
        manifest: { key: 'rows', permissions: { services: ['database'] as const, schemas: ['logbook'] } },
        definition: {
          key: 'rows',
          register: () => undefined,
          start: (started: { use(name: 'database'): Database }) => {
            database = started.use('database');
          },
        },
      };
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe], database: engine.env });
    });
    after(() => host.stop());

    /** A replica that never hears a hint. */
    const replica = (now = 0) => {
      const requests = createClientRequests();
      const replicas = {
        tell: async () => {},
        on: () => ({ dispose: () => {} }),
        listen: async () => ({ dispose: () => {} }),
      };
      const storage = { database: async () => database, explain: (error: unknown) => error };
      return { requests, left: createLeftAnswers({ storage, replicas, requests, log: silentLog, now: () => now }) };
    };
    const rows = async () =>
      (await database.statement<{ n: number }>('select count(*) as n from {logbook.mcp_answers}')).rows[0]?.n;

    if (engine.dialect === 'sqlite') {
      it('do not exist where there is one process: whoever asked is gone', async () => {
        await replica().left.leave(session.id, inventedId(1), body);
        expect(await rows()).to.equal(0);
      });
      return;
    }

    it('are found by the one that asked, also when no hint arrives', async () => {
      const [asking, other] = [replica(), replica()];
      let id = '';
      const send = (json: string) => {
        id = (JSON.parse(json) as { id: string }).id;
      };
      const answer = asking.requests.ask(session, send, { method: 'roots/list' }, new AbortController().signal);
      await other.left.leave(session.id, id, { ...body, id });
      await other.left.poll();
      expect(await rows()).to.equal(1);
      await asking.left.poll();
      expect(await answer).to.deep.equal({ roots: [] });
      expect(await rows()).to.equal(0);
    });

    it('are dropped when no replica can have asked for them', async () => {
      await replica().left.leave(session.id, '7', body);
      expect(await rows()).to.equal(0);
    });

    it('cannot fill the database, and go when nobody took them', async () => {
      const { left } = replica();
      for (let n = 0; n < 105; n += 1) await left.leave(session.id, inventedId(n), body);
      await left.leave('mcps_b', inventedId(1), body);
      expect(await rows()).to.equal(101);
      await replica(patienceMs).left.sweep();
      expect(await rows()).to.equal(101);
      await replica(patienceMs + 1).left.sweep();
      expect(await rows()).to.equal(0);
    });
  });
});
