import { expect } from 'chai';
import { type Frame, kinds, type SocketClient, textOf } from 'mortise/contracts/realtime/testing';
import type { StoredMessage } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type Replica, startReplica } from './replica.js';

describe('two processes on one database', () => {
  eachDatabase((engine) => {
    const replicas: Replica[] = [];

    afterEach(async () => {
      await Promise.all(replicas.splice(0).map((replica) => replica.dispose()));
    });

    async function start(claimSeconds?: number): Promise<[Replica, Replica]> {
      const both: [Replica, Replica] = [
        await startReplica(engine, claimSeconds),
        await startReplica(engine, claimSeconds),
      ];
      replicas.push(...both);
      return both;
    }

    /** Sends until the session is free. */
    async function sendWhenFree(client: SocketClient, content: string): Promise<Frame[]> {
      for (;;) {
        const frames = await client.ask('chat.send', { content });
        if (frames[0]?.error?.code !== 'SESSION_BUSY') return frames;
      }
    }

    const tables = (): Promise<Database> => engine.open('probe', ['realtime']);

    async function leaseEnd(): Promise<number> {
      const { rows } = await (await tables()).statement<{ lease_expires_at: number }>(
        "select lease_expires_at from {realtime.sessions} where channel = 'ws'",
      );
      return rows[0]?.lease_expires_at ?? Number.NaN;
    }

    /** Rows of the session in their order, and how the turns ended. */
    async function stored(): Promise<{ rows: [number, string, string, number][]; turns: string[] }> {
      const database = await tables();
      const { rows } = await database.statement<{
        seq: number;
        role: StoredMessage['role'];
        content: string;
        created_at: number;
      }>('select seq, role, content, created_at from {realtime.messages} order by seq');
      const { rows: turns } = await database.statement<{ status: string }>(
        'select status from {realtime.turns} order by lease_epoch',
      );
      return {
        rows: rows.map(({ seq, role, content, created_at }) => [seq, role, content, created_at]),
        turns: turns.map(({ status }) => status),
      };
    }

    const facts = (rows: readonly (readonly unknown[])[]) => rows.map(([seq, role, content]) => [seq, role, content]);

    it('serve a session one at a time, and cancel each other’s turns', async () => {
      const [a, b] = await start();
      const id = a.client.request('chat.send', { content: 'slow' });
      await until('a chunk', () => a.client.of(id).length > 0);
      expect(kinds(await b.client.ask('chat.send', { content: 'mine' }))).to.deep.equal(['SESSION_BUSY']);
      expect((await b.client.answer('session.list')).sessions[0]?.busy).to.equal(true);
      expect((await b.client.answer('chat.cancel', { session_id: 'main' })).cancelled).to.equal(true);
      expect((await a.client.end(id)).at(-1)?.data.finish_reason).to.equal('cancelled');
      expect(textOf(await b.client.ask('chat.send', { content: 'mine' }))).to.equal('Re: mine');
    });

    it('cancel each other’s turns long before a claim is renewed', async () => {
      const [a, b] = await start(60);
      const id = a.client.request('chat.send', { content: 'slow' });
      await until('a chunk', () => a.client.of(id).length > 0);
      expect((await b.client.answer('chat.cancel', { session_id: 'main' })).cancelled).to.equal(true);
      expect((await a.client.end(id)).at(-1)?.data.finish_reason).to.equal('cancelled');
    });

    it('take over from a killed one once its lease has expired, and the history is whole', async () => {
      const [a, b] = await start();
      await a.client.ask('chat.send', { content: 'before' });
      const id = a.client.request('chat.send', { content: 'tool' });
      await until('the call', () => kinds(a.client.of(id)).includes('tool_call'));
      await a.server.end('SIGKILL');
      const expires = await leaseEnd();
      expect(textOf(await sendWhenFree(b.client, 'roles'))).to.equal('user assistant user assistant tool! user');
      const { rows, turns } = await stored();
      expect(facts(rows)).to.deep.equal([
        [0, 'user', 'before'],
        [1, 'assistant', 'Re: before'],
        [2, 'user', 'tool'],
        [3, 'assistant', 'Let me see. '],
        [4, 'user', 'roles'],
        [5, 'assistant', 'user assistant user assistant tool! user'],
      ]);
      expect(turns).to.deep.equal(['completed', 'interrupted', 'completed']);
      // By the database's clock: not before the end of the lease, and soon after it.
      expect((rows[4]?.[3] ?? 0) - expires).to.be.within(0, 15_000);
    });

    it('take over from one that is frozen longer than its lease, which writes nothing afterwards', async () => {
      const [a, b] = await start();
      const id = a.client.request('chat.send', { content: 'slow' });
      await until('a chunk', () => a.client.of(id).length > 0);
      a.server.child.kill('SIGSTOP');
      expect(textOf(await sendWhenFree(b.client, 'mine'))).to.equal('Re: mine');
      const before = await stored();
      a.server.child.kill('SIGCONT');
      const frames = await a.client.end(id);
      expect(frames.at(-1)?.error).to.include({
        code: 'SESSION_FENCED',
        message:
          'The database did not renew the lease of the session in time, so the turn was ended before another worker may take the session.',
      });
      await until('the mark on its turn', async () => (await stored()).turns[0] === 'fenced');
      const after = await stored();
      expect(after.rows).to.deep.equal(before.rows);
      expect(facts(after.rows)).to.deep.equal([
        [0, 'user', 'slow'],
        [1, 'user', 'mine'],
        [2, 'assistant', 'Re: mine'],
      ]);
      expect(textOf(await a.client.ask('chat.send', { content: 'again' }))).to.equal('Re: again');
    });

    if (engine.dialect !== 'postgres') return;

    it('push replies to each other’s sockets', async () => {
      const [a, b] = await start();
      await b.client.ask('session.watch', {}, 'watch');
      // The second is too long for a notification: the other process reads it.
      const said = ['quick', 'long '.repeat(4_000)];
      for (const content of said) await a.client.ask('chat.send', { content });
      await until('the pushes', () => b.client.of('watch').length > 2);
      const pushed = b.client.of('watch').slice(1);
      expect(pushed.map(({ data }) => data.content)).to.deep.equal(said.map((text) => `Re: ${text}`));
    });

    it('push the questions of a turn to watchers and to the caller', async () => {
      const [a, b] = await start();
      for (const { client } of [a, b]) await client.ask('session.watch', {}, 'watch');
      const asked = `ask ${'why '.repeat(2_000)}`;
      for (const content of ['ask', asked]) await a.client.ask('chat.send', { content });
      const questions = (client: SocketClient) =>
        client.of('watch').flatMap(({ data }) => (data.kind === 'question' ? [data] : []));
      await until('the pushes', () => questions(a.client).length + questions(b.client).length === 4);
      const about = { kind: 'question', session_id: 'main', turn_id: 'turn-1', request_id: 'q-1', state: 'pending' };
      const shown = (question: string) => ({ ...about, questions: [{ id: 'a', header: 'Way', question }] });
      expect(questions(a.client)).to.deep.equal([shown('ask'), shown(asked)]);
      expect(questions(b.client)).to.deep.equal([shown('ask'), { ...about, questions: null }]);
    });
  });
});
