import { expect } from 'chai';
import type { Answer } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine, until } from 'mortise/sdk/testing';
import { type RemoteHost, startRemote } from './remote-host.js';

describe('storing in a remote backend', () => {
  eachDatabase((engine: TestEngine) => {
    let remote: RemoteHost;

    beforeEach(async () => {
      remote = await startRemote(engine);
    });
    afterEach(() => remote.stop());

    const rich = {
      payload_md: 'The harbour opens at five.',
      target_space: 'private:a',
      kind: 'FACT',
      meta_json: { b: [1, 2] },
      evidence: [{ uri: 'https://example.org/port', sha256: 'f'.repeat(64) }],
    };

    const outcome = async (answer: Answer) => {
      const [row, ...more] = await remote.audits(answer);
      return {
        ok: answer.body.ok,
        action: answer.body.action,
        outbox_status: answer.body.outbox_status,
        reason: answer.body.reason,
        audits: [row, ...more].map((audit) => `${audit?.action} ${audit?.reason} ${audit?.status}`),
      };
    };

    /** Redirects for an outage and outbox rows are as many as each other. */
    const isBalanced = async ({ count }: RemoteHost) => {
      const redirects = await count('governance.write_audit', `action = 'redirect' and reason like 'OPENMEMORY_%'`);
      expect(redirects).to.equal(await count('logbook.outbox_memory'));
    };

    it('settles the audit row that was pending during the backend call', async () => {
      const held = Promise.withResolvers<void>();
      remote.server.fail('add', { kind: 'held', until: held.promise });
      const storing = remote.store(rich);
      await until(async () => (await remote.count('governance.write_audit', `status = 'pending'`)) === 1);
      expect(await remote.ledger(rich.payload_md)).to.deep.include({ state: 'writing', backend_memory_id: null });
      held.resolve();
      const answer = await storing;
      expect(answer.body).to.deep.include({
        ok: true,
        action: 'allow',
        memory_id: 'om-1',
        message: null,
        dedup: false,
      });
      const [audit] = await remote.audits(answer);
      expect(audit).to.deep.include({ action: 'allow', reason: 'policy:private_space', status: 'success' });
      expect(audit?.evidence).to.deep.include({ memory_id: 'om-1' });
      expect(await remote.ledger(rich.payload_md)).to.deep.include({ state: 'active', backend_memory_id: 'om-1' });
      expect(remote.server.journal[0]?.metadata).to.deep.include({ b: [1, 2], kind: 'FACT', space: 'private:a' });
      expect((await remote.host.service('audit').verify()).ok).to.equal(true);
    });

    it('puts the complete memory into the outbox while the backend is down', async () => {
      await remote.server.stop();
      const answer = await remote.store(rich);
      const outboxId = answer.body.outbox_id;
      expect(answer.body).to.deep.include({
        ok: false,
        action: 'redirect',
        outbox_status: 'pending',
        space_written: null,
        memory_id: null,
        reason: 'OPENMEMORY_WRITE_FAILED:connection_error',
      });
      expect(answer.body.message).to.match(
        new RegExp(
          `^The memory backend is unavailable \\(OpenMemory connection failed: \\w+\\)\\..*outbox_id=${outboxId}\\)`,
        ),
      );
      expect(await outcome(answer)).to.have.deep.property('audits', [
        'redirect OPENMEMORY_WRITE_FAILED:connection_error redirected',
      ]);
      const [audit] = await remote.audits(answer);
      expect(audit?.evidence).to.deep.include({ outbox_id: outboxId, intended_action: 'allow' });
      const row = await remote.host.service('logbook').outbox.get(Number(outboxId));
      expect(row).to.deep.include({
        status: 'pending',
        retryCount: 0,
        space: 'private:a',
        payload: rich.payload_md,
        kind: 'FACT',
        meta: { b: [1, 2] },
        evidence: rich.evidence,
        verifyFirst: false,
        lastErrorClass: 'unavailable',
      });
      expect(await remote.ledger(rich.payload_md)).to.deep.include({ state: 'queued', outbox_id: outboxId });
      await isBalanced(remote);
    });

    it('finds undelivered memories while the backend is down, and reports that it is', async () => {
      await remote.server.stop();
      await remote.store(rich);
      const { body } = await remote.query({ query: 'harbour', spaces: ['private:a'] });
      expect(body).to.deep.include({ ok: true, degraded: true, total: 1 });
      expect(body.message).to.match(/^Degraded query \(memory backend unavailable\): OpenMemory connection failed/);
      expect((body.results as readonly object[])[0]).to.deep.include({ content: rich.payload_md, source: 'pending' });
    });

    it('finds undelivered memories together with those of the backend', async () => {
      remote.server.fail('add', { kind: 'status', status: 503 }, { kind: 'status', status: 503 });
      await remote.store(rich);
      await remote.store({ payload_md: 'The harbour closes at nine.', target_space: 'private:a' });
      const { body } = await remote.query({ query: 'harbour', spaces: ['private:a'] });
      expect(body).to.deep.include({ degraded: false, total: 2 });
      const sources = (body.results as readonly { source: string }[]).map(({ source }) => source).sort();
      expect(sources).to.deep.equal(['backend', 'pending']);
    });

    it('queues the same memory once', async () => {
      await remote.server.stop();
      const first = await remote.store(rich);
      const again = await remote.store(rich);
      expect(again.body).to.deep.include({ ok: false, action: 'redirect', outbox_id: first.body.outbox_id });
      expect(again.body.message).to.match(/^already queued/);
      const [audit] = await remote.audits(again);
      expect(audit).to.deep.include({ action: 'redirect', reason: 'dedup_pending' });
      expect(audit?.evidence).to.deep.include({ original_outbox_id: first.body.outbox_id });
      expect(await remote.count('logbook.outbox_memory')).to.equal(1);
    });

    it('answers for an existing memory without calling the backend', async () => {
      await remote.store(rich);
      const again = await remote.store(rich);
      expect(again.body).to.deep.include({ ok: true, action: 'allow', memory_id: 'om-1', dedup: true });
      expect(remote.server.requests.filter(({ call }) => call === 'add')).to.have.length(1);
    });

    it('makes a memory that the backend rejects a dead letter, with the reason', async () => {
      remote.server.fail('add', { kind: 'status', status: 400 });
      const answer = await remote.store(rich);
      expect(await outcome(answer)).to.deep.equal({
        ok: false,
        action: 'redirect',
        outbox_status: 'dead',
        reason: 'OPENMEMORY_WRITE_FAILED:api_error_400',
        audits: ['reject outbox_flush_dead failed', 'redirect OPENMEMORY_WRITE_FAILED:api_error_400 redirected'],
      });
      expect(answer.body.message).to.contain('dead letter').and.to.contain('OpenMemory API error: 400');
      const dead = await remote.host.service('logbook').outbox.get(Number(answer.body.outbox_id));
      expect(dead).to.deep.include({
        status: 'dead',
        lastError: 'OpenMemory API error: 400',
        payload: rich.payload_md,
      });
      expect(dead?.deadAt).to.be.a('string');
      expect(await remote.ledger(rich.payload_md)).to.deep.include({ state: 'dead' });
      await isBalanced(remote);
    });

    it('detects that the backend has other content in the place of a memory', async () => {
      for (const silent of [false, true]) {
        const text = `Ships are ${silent}.`;
        await remote.store({ payload_md: `Boats are ${silent}.`, target_space: 'private:a' });
        remote.server.fail('add', { kind: 'merge', silent });
        const answer = await remote.store({ payload_md: text, target_space: 'private:a' });
        expect(answer.body).to.deep.include({ ok: false, action: 'redirect', outbox_status: 'dead' });
        const dead = await remote.host.service('logbook').outbox.get(Number(answer.body.outbox_id));
        expect(dead?.lastError).to.match(/^merged_into:om-\d+$/);
        expect(await remote.ledger(text)).to.deep.include({ state: 'merged' });
        const found = await remote.query({ query: text, spaces: ['private:a'] });
        expect((found.body.results as readonly object[])[0]).to.deep.include({ content: text, source: 'pending' });
      }
      await isBalanced(remote);
    });

    it('accepts the answer of a backend that already has the same text', async () => {
      const other = remote.server.put({ content: 'Tea is hot.', metadata: { space: 'private:b' } });
      remote.server.fail('add', { kind: 'merge', into: other.id });
      const { body } = await remote.store({ payload_md: 'Tea is hot.', target_space: 'private:a' });
      expect(body).to.deep.include({ ok: true, action: 'allow', memory_id: other.id, dedup: true });
      const found = await remote.query({ query: 'tea', spaces: ['private:a'] });
      expect(found.body.total).to.equal(1);
    });

    const doubts: readonly [string, Parameters<RemoteHost['server']['fail']>[1], string, boolean][] = [
      ['cuts the connection after it stored', { kind: 'reset', apply: true }, 'connection_error', true],
      ['cuts its answer short', { kind: 'truncate' }, 'connection_error', true],
      ['answers nonsense', { kind: 'malformed' }, 'invalid_response', true],
      ['answers without an id', { kind: 'missing-id' }, 'invalid_response', true],
      ['answers 500', { kind: 'status', status: 500 }, 'api_error_500', true],
      ['answers 502', { kind: 'status', status: 502 }, 'api_error_502', true],
      ['answers 504', { kind: 'status', status: 504 }, 'api_error_504', true],
      ['answers 501', { kind: 'status', status: 501 }, 'api_error_501', false],
      ['redirects', { kind: 'status', status: 302, location: '/elsewhere' }, 'api_error_302', false],
      ['reports a failure', { kind: 'success-false' }, 'invalid_response', false],
      ['asks for patience', { kind: 'status', status: 429, retryAfter: '120' }, 'api_error_429', false],
      ['refuses the key', { kind: 'status', status: 401 }, 'api_error_401', false],
    ];
    for (const [what, fault, detail, verifyFirst] of doubts) {
      it(`puts a memory into the outbox when the backend ${what}`, async () => {
        remote.server.fail('add', fault);
        const answer = await remote.store(rich);
        expect(answer.body.reason).to.equal(`OPENMEMORY_WRITE_FAILED:${detail}`);
        const row = await remote.host.service('logbook').outbox.get(Number(answer.body.outbox_id));
        expect(row).to.deep.include({ status: 'pending', verifyFirst });
        if (what === 'asks for patience') {
          expect(Date.parse(row?.nextAttemptAt ?? '') - Date.parse(row?.createdAt ?? '')).to.equal(120_000);
        }
        await isBalanced(remote);
      });
    }

    it('puts a memory into the outbox when the backend hangs', async () => {
      const hanging = await startRemote(engine, { env: { MORTISE_OPENMEMORY_TIMEOUT_MS: '1000' } });
      hanging.server.fail('add', { kind: 'hang', apply: true });
      const answer = await hanging.store(rich);
      expect(answer.body.reason).to.equal('OPENMEMORY_WRITE_FAILED:timeout');
      const row = await hanging.host.service('logbook').outbox.get(Number(answer.body.outbox_id));
      expect(row).to.deep.include({ status: 'pending', verifyFirst: true });
      await isBalanced(hanging);
      await hanging.stop();
    });

    it('retries once where that cannot store the memory twice', async () => {
      remote.server.fail('add', { kind: 'status', status: 503 });
      expect((await remote.store(rich)).body).to.deep.include({ ok: true, memory_id: 'om-1' });
      remote.server.fail('add', { kind: 'status', status: 503 }, { kind: 'status', status: 503 });
      const { body } = await remote.store({ payload_md: 'Not twice.', target_space: 'private:a' });
      expect(body.reason).to.equal('OPENMEMORY_WRITE_FAILED:api_error_503');
      expect(remote.server.requests.filter(({ call }) => call === 'add')).to.have.length(4);
    });

    it('does not send a text that is longer than the backend accepts', async () => {
      const { body } = await remote.store({ payload_md: 'x'.repeat(200_001), target_space: 'private:a' });
      expect(body).to.deep.include({
        outbox_status: 'dead',
        reason: 'OPENMEMORY_WRITE_FAILED:content_too_long',
      });
      expect(remote.server.requests.filter(({ call }) => call === 'add')).to.have.length(0);
    });

    it('stops calling a backend that is down until it answers again', async () => {
      await remote.server.stop();
      for (let n = 0; n < 5; n += 1) await remote.store({ payload_md: `Down ${n}`, target_space: 'private:a' });
      const { body } = await remote.store({ payload_md: 'Down at last', target_space: 'private:a' });
      expect(body.reason).to.equal('OPENMEMORY_WRITE_FAILED:circuit_open');
      const report = await remote.get('/reliability/report');
      expect(report.body.backend).to.deep.include({ key: 'openmemory', circuit: 'open' });
      expect(report.body.message).to.equal(null);
      const degraded = await remote.query({ query: 'down', spaces: ['private:a'] });
      expect(degraded.body.message).to.contain('OpenMemory connection failed');
      await remote.server.start();
      await until(async () => remote.host.service('memory').status().circuit === 'closed');
      expect((await remote.store(rich)).body.ok).to.equal(true);
    });

    it('is not cancelled by a caller who disconnects after it has begun', async () => {
      const post = (text: string, signal: AbortSignal) =>
        remote.host
          .fetch('/memory/store', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ payload_md: text, target_space: 'private:a' }),
            signal,
          })
          .catch(() => 'gone');
      const leaving = new AbortController();
      const held = Promise.withResolvers<void>();
      remote.server.fail('add', { kind: 'held', until: held.promise });
      const storing = post('Begun.', leaving.signal);
      await until(() => remote.server.requests.some(({ call }) => call === 'add'));
      leaving.abort();
      expect(await storing).to.equal('gone');
      held.resolve();
      await until(async () => (await remote.ledger('Begun.')).state === 'active');
      expect(await remote.count('governance.write_audit', `status = 'success'`)).to.equal(1);
    });

    it('creates an unknown actor as a user with the write', async () => {
      const other = await startRemote(engine, { env: { MORTISE_UNKNOWN_ACTOR_POLICY: 'auto_create' } });
      await other.server.stop();
      const answer = await other.store({ payload_md: 'Of eve.', target_space: 'private:eve', actor_user_id: 'eve' });
      expect((await other.audits(answer)).map(({ reason }) => reason)).to.include('actor_autocreated');
      expect(await other.count('identity.users', `user_id = 'eve'`)).to.equal(1);
      await other.stop();
    });

    it('keeps only the hash of a delivered memory, if configured', async () => {
      const other = await startRemote(engine, { env: { MORTISE_LEDGER: 'hash' } });
      await other.store(rich);
      expect(await other.count('logbook.memories', `state = 'active' and payload_md is null`)).to.equal(1);
      await other.server.stop();
      await other.store({ ...rich, payload_md: 'Kept whole.' });
      expect(await other.ledger('Kept whole.')).to.deep.include({ state: 'queued' });
      await other.stop();
    });
  });
});
