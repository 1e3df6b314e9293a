import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { claimSession } from '../store/session-row.js';
import { asSession, type Lease } from '../store/store.js';
import { sweepSessions } from '../sweep.js';
import { ask, assistant, codeOf, nextSeq, opened, openSessions, s1, turnRequest, user } from './open-store.js';

const key = { key: 'k-1', bodySha256: 'a'.repeat(64) };

describe('turns', () => {
  eachDatabase((engine) => {
    it('stores a whole turn under one chat, which it creates and names', async () => {
      const sessions = await openSessions(engine);
      const { service } = sessions;
      const turn = await ask(service, '你好，做个自我介绍，谢谢你，我们开始吧，今天天气很好', 'hello');
      const chat = await service.currentChat(s1);
      expect(chat).to.include({ id: turn.chat.id, name: '你好，做个自我介绍，谢谢你，我们开始吧，' });
      expect(chat?.meta).to.deep.equal({});
      const detail = await service.getTurn(turn.turnId);
      expect(detail).to.include({ status: 'completed', reply: 'hello', steps: 1, sessionKey: turn.sessionKey });
      expect(detail?.finishedAt).to.be.a('number');
      expect(await nextSeq(sessions, turn.sessionKey)).to.equal(2);
      expect(await service.openTurn(turnRequest('again'))).to.include({ kind: 'open' });
    });

    /** Sessions whose next transactions fail once armed: before they begin, or after their commit if not `acknowledged`. */
    const withFailingClose = async (failures: number, acknowledged: boolean) => {
      const { store } = await openSessions(engine);
      let armed = false;
      let left = failures;
      const failing = new Proxy(store.database, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          if (name !== 'transaction') return member.bind(target) as unknown;
          return async (...args: unknown[]) => {
            const run = () => (member as (...all: unknown[]) => Promise<unknown>).apply(target, args);
            if (!armed || left === 0) return run();
            left -= 1;
            if (!acknowledged) await run();
            throw new Error('The connection was closed.');
          };
        },
      });
      const sessions = await openSessions(engine, { database: failing });
      const arm = () => {
        armed = true;
      };
      return { ...sessions, arm };
    };
    const answered = { status: 'completed', messages: [assistant('Hi.')], steps: 1 } as const;

    for (const [when, acknowledged] of [
      ['fails', true],
      ['is committed but not acknowledged', false],
    ] as const) {
      it(`stores the answer and frees the session when the closing transaction ${when} once`, async () => {
        const { service, arm } = await withFailingClose(1, acknowledged);
        const turn = await opened(service);
        arm();
        await turn.close(answered);
        expect(await service.getTurn(turn.turnId)).to.include({ status: 'completed', reply: 'Hi.' });
        expect(await service.openTurn(turnRequest('again'))).to.include({ kind: 'open' });
      });
    }

    it('can be closed again when the closing transaction keeps failing', async () => {
      const { service, arm } = await withFailingClose(4, true);
      const turn = await opened(service);
      arm();
      expect(await codeOf(turn.close(answered))).to.equal('store_error');
      await turn.close({ status: 'failed', messages: [assistant('Hi.')], steps: 1 });
      expect(await service.getTurn(turn.turnId)).to.include({ status: 'failed' });
      expect(await service.openTurn(turnRequest('again'))).to.include({ kind: 'open' });
    });

    it('ends a turn before its lease while the database hangs, says why, and keeps no caller waiting', async () => {
      const { store } = await openSessions(engine);
      const hanging = new Set<string>();
      const database = new Proxy(store.database, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return hanging.has(String(name)) ? () => new Promise(() => undefined) : (member.bind(target) as unknown);
        },
      });
      const { service } = await openSessions(engine, { database, ttlMs: 2_000 });
      const turn = await opened(service);
      for (const name of ['transaction', 'statement', 'batch', 'claim']) hanging.add(name);
      const appended = codeOf(turn.append([assistant('Hi.')]));
      await until('the end of the turn', () => turn.signal.aborted);
      expect(turn.signal.reason).to.include({ code: 'session_fenced' });
      expect(turn.signal.reason.message).to.match(/database did not renew the lease .* in time/);
      expect(await appended).to.equal('session_fenced');
      expect(await codeOf(turn.close({ status: 'fenced', messages: [], steps: 1 }))).to.equal('session_fenced');
      hanging.clear();
      const other = await openSessions(engine, { owner: 'process-b' });
      await until('the claim of another worker', async () => {
        await sweepSessions(other.store, { alive: async () => new Set() });
        return (await other.service.openTurn(turnRequest('again'))).kind === 'open';
      });
      expect((await service.getTurn(turn.turnId))?.status).to.be.oneOf(['interrupted', 'fenced']);
    });

    it('never completes a turn that was given up, so that its idempotency key runs only once', async () => {
      const { store } = await openSessions(engine);
      const gate = Promise.withResolvers<void>();
      let holds = false;
      let ended: Promise<unknown> | undefined;
      const database = new Proxy(store.database, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          if (name !== 'transaction') return member.bind(target) as unknown;
          return (...args: unknown[]) => {
            const run = () => (member as (...all: unknown[]) => Promise<unknown>).apply(target, args);
            if (!holds) return run();
            ended = gate.promise.then(run);
            return ended;
          };
        },
      });
      const { service } = await openSessions(engine, { database, ttlMs: 2_000 });
      const turn = await opened(service, turnRequest('hi', { idempotency: key }));
      holds = true;
      const closing = codeOf(turn.close(answered));
      expect(await closing).to.equal('session_fenced');
      await until('the mark', async () => (await service.getTurn(turn.turnId))?.status === 'fenced');
      // The database goes on with what it was asked before.
      gate.resolve();
      await ended?.catch(() => undefined);
      holds = false;
      expect(await service.getTurn(turn.turnId)).to.include({ status: 'fenced' });
      const other = await openSessions(engine, { owner: 'process-b' });
      await until('the claim of another worker', async () => {
        await sweepSessions(other.store, { alive: async () => new Set() });
        return (await other.service.openTurn(turnRequest('hi', { idempotency: key }))).kind === 'open';
      });
    });

    it('writes a turn in two transactions, and one for each round in between', async () => {
      const { store } = await openSessions(engine);
      let writes = 0;
      const counting = new Proxy(store.database, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            const options = args.at(-1) as { trx?: unknown } | undefined;
            if (name === 'transaction') writes += 1;
            if (name === 'statement' && !options?.trx && !/^\s*select/i.test(String(args[0]))) writes += 1;
            return (member as (...all: unknown[]) => unknown).apply(target, args);
          };
        },
      });
      const { service } = await openSessions(engine, { database: counting });
      writes = 0;
      const turn = await opened(service, turnRequest('hi', { idempotency: key, chatMeta: { a: 1 } }));
      await turn.history();
      await turn.append([assistant('round')]);
      await turn.close({ status: 'completed', messages: [assistant('done')], steps: 2 });
      expect(writes).to.equal(3);
    });

    it('returns the rows of answered turns and the input for the model, whatever the status of the turns', async () => {
      const { service } = await openSessions(engine);
      await ask(service, 'one', 'first');
      const partial = await opened(service, turnRequest('two'));
      await partial.close({ status: 'failed', messages: [{ ...assistant('half'), status: 'error' }], steps: 1 });
      const silent = await opened(service, turnRequest('three'));
      await silent.close({ status: 'failed', steps: 1 });
      const turn = await opened(service, turnRequest('four'));
      const rows = await turn.history();
      expect(rows.map(({ content }) => content)).to.deep.equal(['one', 'first', 'two', 'half', 'four']);
    });

    it('runs one turn of a session at a time, and waits for it on request', async () => {
      const { service } = await openSessions(engine);
      const first = await opened(service, turnRequest('one'));
      expect(await service.openTurn(turnRequest('two'))).to.deep.equal({ kind: 'busy' });
      const waiting = opened(service, turnRequest('two'), 5_000);
      await first.close({ status: 'completed', messages: [assistant('1')], steps: 1 });
      const second = await waiting;
      expect((await second.history()).map(({ content }) => content)).to.deep.equal(['one', '1', 'two']);
    });

    it('stops waiting when the caller aborts', async () => {
      const { service } = await openSessions(engine);
      await opened(service, turnRequest('one'));
      const controller = new AbortController();
      const waiting = service.openTurn(turnRequest('two'), { waitMs: 60_000, signal: controller.signal });
      controller.abort();
      expect(await codeOf(waiting)).to.equal('turn_cancelled');
    });

    it('holds its session beyond the TTL of one lease', async () => {
      const { service, store } = await openSessions(engine, { ttlMs: 2_000 });
      const turn = await opened(service);
      const end = Date.now() + 2_200;
      await until('the first lease would have ended', async () => {
        expect(await claimSession(store, asSession(s1), 2_000)).to.equal(null);
        return Date.now() > end;
      });
      await turn.close({ status: 'completed', messages: [assistant('done')], steps: 1 });
      expect((await service.getTurn(turn.turnId))?.status).to.equal('completed');
    });

    it('aborts a turn whose session was taken over, and refuses its writes', async () => {
      const sessions = await openSessions(engine, { ttlMs: 150 });
      const { service, store } = sessions;
      const turn = await opened(service);
      // Again when the heartbeat renews the lease in between.
      let thief: Lease | null = null;
      await until('the claim', async () => {
        await store.database.statement('update {realtime.sessions} set lease_expires_at = 1 where id = ?', [
          turn.sessionKey,
        ]);
        thief = await claimSession(store, asSession(s1), 30_000);
        return thief !== null;
      });
      expect(thief).to.deep.include({ epoch: 2 });
      await until('the heartbeat to notice', () => turn.signal.aborted);
      expect(turn.signal.reason).to.include({ code: 'session_fenced' });
      expect(await codeOf(turn.append([assistant('x')]))).to.equal('session_fenced');
      expect(await codeOf(turn.close({ status: 'completed', messages: [assistant('x')], steps: 1 }))).to.equal(
        'session_fenced',
      );
      expect((await service.getTurn(turn.turnId))?.status).to.equal('fenced');
      expect(await nextSeq(sessions, turn.sessionKey)).to.equal(1);
    });

    it('is fenced at its end even without a heartbeat in between', async () => {
      const { service, store } = await openSessions(engine);
      const turn = await opened(service);
      await store.database.statement('update {realtime.sessions} set lock_token = ? where id = ?', [
        'stolen',
        turn.sessionKey,
      ]);
      expect(await codeOf(turn.close({ status: 'completed', messages: [assistant('x')], steps: 1 }))).to.equal(
        'session_fenced',
      );
      expect(turn.chat.id).to.equal((await service.getTurn(turn.turnId))?.chatId);
      expect((await service.getTurn(turn.turnId))?.reply).to.equal(null);
    });

    it('answers a repeated key with the stored turn, and refuses other content', async () => {
      const sessions = await openSessions(engine);
      const { service } = sessions;
      const turn = await opened(service, turnRequest('one', { idempotency: key }));
      expect(await codeOf(service.findReplay(s1, key))).to.equal('turn_in_progress');
      expect(await codeOf(service.openTurn(turnRequest('one', { idempotency: key })))).to.equal('turn_in_progress');
      const events = [{ type: 'completed', step: 1, reply: 'first' }];
      await turn.close({ status: 'completed', messages: [assistant('first')], steps: 1, events });
      expect(await service.findReplay(s1, key)).to.deep.include({ turnId: turn.turnId, reply: 'first', events });
      const again = await service.openTurn(turnRequest('one', { idempotency: key }));
      expect(again).to.include({ kind: 'replay' });
      expect(await nextSeq(sessions, turn.sessionKey)).to.equal(2);
      const other = { ...key, bodySha256: 'b'.repeat(64) };
      expect(await codeOf(service.openTurn(turnRequest('two', { idempotency: other })))).to.equal(
        'idempotency_conflict',
      );
      expect((await service.turnByKey(s1, key.key))?.turnId).to.equal(turn.turnId);
      // A replay leaves the session free.
      expect(await service.openTurn(turnRequest('three'))).to.include({ kind: 'open' });
    });

    it('runs one of many equal requests and replays it to the others', async () => {
      const { service } = await openSessions(engine);
      const results = await Promise.all(
        Array.from({ length: 8 }, async () => {
          try {
            const result = await service.openTurn(turnRequest('one', { idempotency: key }), { waitMs: 5_000 });
            if (result.kind === 'open') {
              await result.turn.close({ status: 'completed', messages: [assistant('1')], steps: 1 });
            }
            return result.kind;
          } catch (error) {
            return (error as { code: string }).code;
          }
        }),
      );
      expect(results.filter((result) => result === 'open')).to.have.length(1);
      for (const result of results) expect(result).to.be.oneOf(['open', 'replay', 'turn_in_progress']);
    });

    it('frees the key of a turn that did not succeed, and of one that is a day old', async () => {
      const { service, store } = await openSessions(engine);
      const failed = await opened(service, turnRequest('one', { idempotency: key }));
      await failed.close({ status: 'failed', steps: 1, error: { code: 'provider_request_failed', message: 'no' } });
      expect(await service.findReplay(s1, key)).to.equal(undefined);
      const turn = await opened(service, turnRequest('one', { idempotency: key }));
      await turn.close({ status: 'completed', messages: [assistant('1')], steps: 1 });
      await store.database.statement('update {realtime.turns} set started_at = 1 where turn_id = ?', [turn.turnId]);
      expect(await service.openTurn(turnRequest('two', { idempotency: key }))).to.include({ kind: 'open' });
    });

    it('ends a running turn on request, here and in another process', async () => {
      const here = await openSessions(engine, { ttlMs: 2_000 });
      const there = await openSessions(engine, { ttlMs: 2_000, owner: 'process-b' });
      const turn = await opened(here.service);
      expect(await here.service.cancelTurn(turn.turnId)).to.equal(true);
      expect(turn.signal.reason).to.include({ code: 'turn_cancelled' });
      await turn.close({ status: 'cancelled', messages: [{ ...assistant('ha'), status: 'cancelled' }], steps: 1 });
      expect(await here.service.cancelTurn(turn.turnId)).to.equal(false);
      const next = await opened(here.service, turnRequest('again'));
      expect(await there.service.cancelTurn(next.turnId)).to.equal(true);
      await until('the renewal that sees the request', () => next.signal.aborted);
      expect(next.signal.reason).to.include({ code: 'turn_cancelled' });
      await next.close({ status: 'cancelled', steps: 0 });
    });

    it('marks turns of dead owners and of expired leases interrupted, and releases their sessions', async () => {
      const dead = await openSessions(engine, { owner: 'dead' });
      const living = await openSessions(engine, { owner: 'living' });
      const lost = await opened(dead.service, turnRequest('one', { idempotency: key }));
      const kept = await opened(living.service, turnRequest('two', { session: { ...s1, sessionId: 's2' } }));
      const stale = await opened(living.service, turnRequest('three', { session: { ...s1, sessionId: 's3' } }));
      await living.store.database.statement('update {realtime.sessions} set lease_expires_at = 1 where id = ?', [
        stale.sessionKey,
      ]);
      const alive = async () => new Set(['living']);
      expect(await sweepSessions(living.store, { alive })).to.equal(2);
      expect((await living.service.getTurn(lost.turnId))?.status).to.equal('interrupted');
      expect((await living.service.getTurn(stale.turnId))?.status).to.equal('interrupted');
      expect((await living.service.getTurn(kept.turnId))?.status).to.equal('running');
      expect(await living.service.openTurn(turnRequest('one', { idempotency: key }))).to.include({ kind: 'open' });
      expect(await codeOf(stale.close({ status: 'completed', steps: 1 }))).to.equal('session_fenced');
      await kept.close({ status: 'completed', steps: 1 });
    });

    it('keeps its own turns even if a starved machine has delayed its heartbeat', async () => {
      const { service, store } = await openSessions(engine, { owner: 'living' });
      const turn = await opened(service);
      expect(await sweepSessions(store, { alive: async () => new Set<string>() })).to.equal(0);
      await turn.close({ status: 'completed', steps: 1 });
      expect((await service.getTurn(turn.turnId))?.status).to.equal('completed');
    });

    it('interrupts the turn of an expired lease when the next one claims the session', async () => {
      const { service, store } = await openSessions(engine);
      const lost = await opened(service);
      await lost.append([assistant('first'), { role: 'tool', content: 'done', toolCallId: 'call_1' }]);
      await lost.append([assistant('second')]);
      await store.database.statement('update {realtime.sessions} set lease_expires_at = 1 where id = ?', [
        lost.sessionKey,
      ]);
      await opened(service, turnRequest('next'));
      // The steps that it had completed are counted.
      expect(await service.getTurn(lost.turnId)).to.include({ status: 'interrupted', steps: 2 });
    });

    it('logs a failed release, which does not fail the work', async () => {
      const warnings: object[] = [];
      const real = await openSessions(engine);
      const { database } = real.store;
      const unreleasing = new Proxy(database, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (name !== 'statement') return typeof member === 'function' ? member.bind(target) : member;
          return (sql: string, ...rest: never[]) =>
            /lock_token = null/.test(sql) ? Promise.reject(new Error('no database')) : target.statement(sql, ...rest);
        },
      });
      const log = { warn: (fields: object) => void warnings.push(fields) };
      const { service } = await openSessions(engine, { database: unreleasing, log, ttlMs: 1_000 });
      expect(await service.withLease(s1, async () => 'done')).to.equal('done');
      expect(warnings).to.deep.equal([{ session_key: 'console:u1:s1', epoch: 1 }]);
      await until(
        'the lease to run out',
        async () => (await real.service.withLease(s1, async () => 'next')) === 'next',
      );
    });

    it('uses the chat that became current while it waited for the row of its session', async () => {
      const { service, store } = await openSessions(engine);
      await ask(service, 'one', '1');
      const { database } = store;
      let commit = (): void => undefined;
      let written = false;
      const changing = database.transaction(async (trx) => {
        const key = asSession(s1).key;
        await database.statement("update {realtime.sessions} set current_chat_id = 'new' where id = ?", [key], { trx });
        await database.statement(
          "insert into {realtime.chats} (id, session_id, name, created_at, updated_at) values ('new', ?, 'Newer', 1, 1)",
          [key],
          { trx },
        );
        written = true;
        await new Promise<void>((resolve) => {
          commit = resolve;
        });
      });
      await until('the change', () => written);
      const opening = opened(service, turnRequest('two'));
      if (engine.dialect === 'postgres') {
        const waiting =
          "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        await until('the claim to wait', async () => (await database.statement(waiting)).rows.length > 0);
      }
      commit();
      await changing;
      expect((await opening).chat).to.include({ id: 'new', name: 'Newer' });
    });

    it('leases a session for other work, and releases it in all cases', async () => {
      const { service } = await openSessions(engine);
      await ask(service, 'one', '1');
      const stored = await service.withLease(s1, (lease) => lease.append([user('noted')]));
      expect(stored?.[0]).to.include({ seq: 2, role: 'user' });
      const failing = service.withLease(s1, async (lease) => {
        expect(await service.withLease(s1, async () => 'second')).to.equal(null);
        throw new Error(lease.sessionKey);
      });
      expect(await codeOf(failing)).to.match(/Error/);
      expect(await service.withLease(s1, async () => 'free again')).to.equal('free again');
    });
  });
});
