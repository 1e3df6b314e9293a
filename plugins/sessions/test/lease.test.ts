import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { appendMessages, importMessage, readDisplay } from '../store/message-rows.js';
import { claimSession, releaseSession, renewSession } from '../store/session-row.js';
import { asSession, type Lease, type Store } from '../store/store.js';
import {
  assistant,
  codeOf,
  nextSeq,
  opened,
  openSessions,
  s1,
  type TestSessions,
  turnRequest,
  user,
} from './open-store.js';

const session = asSession(s1);
const place = { chatId: null, turnId: null };

function append(store: Store, lease: Lease, text: string) {
  return appendMessages(store, lease, place, [user(text)]);
}

async function claimed(store: Store, ttlMs = 30_000): Promise<Lease> {
  const lease = await claimSession(store, session, ttlMs);
  if (!lease) throw new Error('the session is taken');
  return lease;
}

/** Connections as several processes would have them; SQLite allows one per process, so there they share it. */
async function processes(engine: TestEngine, count: number): Promise<TestSessions[]> {
  const opened: TestSessions[] = [];
  for (let index = 0; index < count; index += 1) {
    const owner = `process-${index}`;
    const database =
      engine.dialect === 'postgres' ? (await engine.openHost()).forPlugin('sessions', ['realtime']) : undefined;
    opened.push(await openSessions(engine, database ? { owner, database } : { owner }));
  }
  return opened;
}

describe('session lease', () => {
  eachDatabase((engine) => {
    it('gives a released session a new token', async () => {
      const { store } = await openSessions(engine);
      const first = await claimed(store);
      expect(await releaseSession(store, session.key, first.token)).to.equal(true);
      const second = await claimed(store);
      expect(second.token).to.not.equal(first.token);
      expect(second.epoch).to.equal(first.epoch + 1);
    });

    it('numbers parallel appends without gaps or repeats', async () => {
      const sessions = await openSessions(engine);
      const lease = await claimed(sessions.store);
      const stored = await Promise.all(Array.from({ length: 30 }, (_, n) => append(sessions.store, lease, `${n}`)));
      const seqs = stored.flat().map(({ seq }) => seq);
      expect(seqs.toSorted((a, b) => a - b)).to.deep.equal(Array.from({ length: 30 }, (_, n) => n));
      expect(await nextSeq(sessions, session.key)).to.equal(30);
    });

    it('makes the rows visible to another process in their order', async () => {
      const [a, b] = (await processes(engine, 2)) as [TestSessions, TestSessions];
      const turn = await opened(a.service, turnRequest('one'));
      await turn.close({ status: 'completed', messages: [assistant('two')], steps: 1 });
      const next = await opened(b.service, turnRequest('three'));
      const { messages } = await a.service.display({ session: s1 });
      for (const rows of [await next.history(), messages]) {
        expect(rows.map(({ seq, role, content }) => [seq, role, content])).to.deep.equal([
          [0, 'user', 'one'],
          [1, 'assistant', 'two'],
          [2, 'user', 'three'],
        ]);
      }
    });

    it('numbers rows of concurrent imports', async () => {
      const sessions = await openSessions(engine);
      const stored = await Promise.all(
        Array.from({ length: 30 }, (_, n) => importMessage(sessions.store, session, user(`${n}`))),
      );
      expect(
        stored
          .flat()
          .map(({ seq }) => seq)
          .toSorted((a, b) => a - b),
      ).to.deep.equal(Array.from({ length: 30 }, (_, n) => n));
      expect(stored.flat().every(({ epoch }) => epoch === null)).to.equal(true);
    });

    it('goes to exactly one of ten simultaneous claims', async () => {
      const all = await processes(engine, 2);
      const claims = await Promise.all(
        Array.from({ length: 10 }, (_, n) => claimSession((all[n % 2] as TestSessions).store, session, 30_000)),
      );
      expect(claims.filter((claim) => claim !== null)).to.have.length(1);
    });

    it('refuses other claims until the lease expires', async () => {
      const { store } = await openSessions(engine);
      const first = await claimed(store, 2_000);
      expect(await claimSession(store, session, 30_000)).to.equal(null);
      let second: Lease | null = null;
      await until('the end of the lease', async () => {
        second = await claimSession(store, session, 30_000);
        return second !== null;
      });
      expect(first).to.include({ epoch: 1 });
      expect(second).to.deep.include({ epoch: 2 });
    });

    it('refuses the writes of a fenced owner, and leaves nothing of them', async () => {
      const sessions = await openSessions(engine);
      const { store } = sessions;
      const old = await claimed(store, 1);
      await append(store, old, 'in time');
      await sleep(20);
      const owner = await claimed(store);
      expect(await codeOf(append(store, old, 'too late'))).to.equal('session_fenced');
      expect(await renewSession(store, old, 30_000)).to.equal(false);
      expect(await releaseSession(store, session.key, old.token)).to.equal(false);
      expect(await nextSeq(sessions, session.key)).to.equal(1);
      const [row] = await append(store, owner, 'mine');
      expect(row).to.include({ seq: 1, epoch: 2 });
    });

    it('keeps an old token invalid after the next owner has released', async () => {
      const { store } = await openSessions(engine);
      const old = await claimed(store, 1);
      await sleep(20);
      const owner = await claimed(store);
      await releaseSession(store, session.key, owner.token);
      expect(await codeOf(append(store, old, 'too late'))).to.equal('session_fenced');
      expect(await renewSession(store, old, 30_000)).to.equal(false);
    });

    it('fences a token of a session that does not exist, and creates no row', async () => {
      const sessions = await openSessions(engine);
      const lease = { key: 'console:u1:nowhere', token: 'made-up', epoch: 1 };
      expect(await codeOf(append(sessions.store, lease, 'x'))).to.equal('session_fenced');
      expect(await nextSeq(sessions, lease.key)).to.equal(undefined);
    });

    it('lets an owner continue whose expired lease was not claimed by another', async () => {
      const { store } = await openSessions(engine);
      const lease = await claimed(store, 1);
      await sleep(20);
      expect(await append(store, lease, 'late but alone')).to.have.length(1);
      expect(await renewSession(store, lease, 30_000)).to.equal(true);
      expect(await claimSession(store, session, 30_000)).to.equal(null);
    });

    it('applies the TTL of the lease, not that of the claimer', async () => {
      const { store } = await openSessions(engine);
      await claimed(store, 60_000);
      await sleep(20);
      expect(await claimSession(store, session, 1)).to.equal(null);
    });

    it('allocates no number for a row that could not be written', async () => {
      const sessions = await openSessions(engine);
      const lease = await claimed(sessions.store);
      await append(sessions.store, lease, 'one');
      const broken = appendMessages(sessions.store, lease, place, [
        user('half'),
        { role: 'user', content: null as unknown as string },
      ]);
      expect(await codeOf(broken)).to.not.equal('resolved');
      expect(await nextSeq(sessions, session.key)).to.equal(1);
    });

    it('lets readers see rows while their owner continues', async () => {
      const { store } = await openSessions(engine);
      const lease = await claimed(store);
      await appendMessages(store, lease, { chatId: 'chat-1', turnId: null }, [user('shown')]);
      const { messages } = await readDisplay(store, { chatId: 'chat-1', limit: 10, all: true });
      expect(messages.map(({ content }) => content)).to.deep.equal(['shown']);
      await append(store, lease, 'still mine');
    });
  });
});
