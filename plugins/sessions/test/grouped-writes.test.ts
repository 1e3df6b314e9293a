import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { claimSession, releaseSession, renewSession } from '../store/session-row.js';
import { asSession } from '../store/store.js';
import { codeOf, openSessions, s1 } from './open-store.js';

describe('grouped writes', () => {
  eachDatabase((engine) => {
    it('commit together, and a member that fails undoes only its own', async () => {
      const { store } = await openSessions(engine);
      const write = (n: number) =>
        store.writes.run(async (trx) => {
          await claimSession(store, asSession({ ...s1, sessionId: `g${n}` }), 30_000, trx);
          if (n % 3 === 0) throw new Error(`no ${n}`);
          return n;
        });
      const settled = await Promise.allSettled(Array.from({ length: 40 }, (_, n) => write(n)));
      const kept = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      expect(kept).to.deep.equal(Array.from({ length: 40 }, (_, n) => n).filter((n) => n % 3 !== 0));
      const { rows } = await store.database.statement('select id from {realtime.sessions}');
      expect(rows).to.have.length(kept.length);
    });

    it('see the writes of the members before them', async () => {
      const { store } = await openSessions(engine);
      const claims = await Promise.all(
        Array.from({ length: 10 }, () => store.writes.run((trx) => claimSession(store, asSession(s1), 30_000, trx))),
      );
      const won = claims.filter((claim) => claim !== null);
      expect(won).to.have.length(1);
      expect(await releaseSession(store, asSession(s1).key, won[0]?.token ?? '')).to.equal(true);
    });

    it('run after an urgent lease renewal', async () => {
      const { store } = await openSessions(engine);
      const session = asSession(s1);
      const lease = await claimSession(store, session, 30_000);
      if (!lease) throw new Error('the session is taken');
      const order: string[] = [];
      const writes = Array.from({ length: 80 }, (_, n) =>
        store.writes
          .run((trx) => claimSession(store, asSession({ ...s1, sessionId: `g${n}` }), 30_000, trx))
          .then(() => order.push('write')),
      );
      const renewal = renewSession(store, lease, 30_000).then((renewed) => order.push(`renewed ${renewed}`));
      await Promise.all([...writes, renewal]);
      expect(order).to.have.length(81);
      // The first group is on its way when the renewal comes; it is in the next one, before the rest.
      if (engine.dialect === 'sqlite') expect(order.indexOf('renewed true')).to.be.within(1, 33);
      else expect(order).to.include('renewed true');
    });

    it('are refused inside an open transaction, which they would wait for', async () => {
      const { store } = await openSessions(engine);
      const inside = store.database.transaction(() => store.writes.run(async () => 'never'));
      expect(await codeOf(inside)).to.equal('nested_query');
    });
  });
});
