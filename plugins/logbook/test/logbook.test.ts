import { expect } from 'chai';
import type { LedgerState, LogbookService, MemoryLedger, NewMemory } from 'mortise/contracts/logbook';
import type { Database } from 'mortise/sdk';
import { eachDatabase } from 'mortise/sdk/testing';
import { createLogbook } from '../create-logbook.js';
import { createGovernanceSettings } from '../governance.js';
import { migrations } from '../migrations/index.js';
import { createUsers } from '../users.js';

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

let made = 0;
function memory(change: Partial<NewMemory> = {}): NewMemory {
  made += 1;
  return {
    memoryKey: `mk_${made}`,
    space: 'private:a',
    payload: `text ${made}`,
    payloadSha: `sha ${made}`,
    payloadLength: 6,
    metaSha: '',
    kind: null,
    meta: {},
    evidence: [],
    actorUserId: null,
    itemId: null,
    backend: 'local',
    backendMemoryId: `mem_${made}`,
    auditId: null,
    outboxId: null,
    correlationId: null,
    ...change,
  };
}

describe('the logbook', () => {
  eachDatabase((engine) => {
    let database: Database;
    let logbook: LogbookService;
    beforeEach(async () => {
      database = await engine.open('logbook', schemas);
      await database.migrate(migrations);
      logbook = createLogbook(database);
    });

    const setState = ({ memoryKey }: NewMemory, state: LedgerState) =>
      database.statement('update {logbook.memories} set state = ? where memory_key = ?', [state, memoryKey]);

    it('takes rows with what must be given alone', async () => {
      const rows: [string, string, string][] = [
        ['identity.users', 'user_id', `'u'`],
        ['logbook.items', 'item_type, title', `'t', 't'`],
        ['logbook.events', 'item_id, event_type', `1, 't'`],
        ['logbook.attachments', 'item_id, kind, uri, sha256', `1, 'k', 'u', 's'`],
        ['logbook.kv', 'namespace, key', `'n', 'k'`],
        ['logbook.outbox_memory', 'target_space, payload_md, payload_sha', `'s', 'p', 'x'`],
        ['logbook.memories', 'memory_key, space, payload_sha', `'m', 's', 'x'`],
        ['analysis.runs', 'source_type', 'null'],
        ['analysis.knowledge_candidates', 'kind', 'null'],
        ['governance.settings', 'project_key', `'p'`],
        ['governance.write_audit', 'action', 'null'],
        ['governance.audit_chain', 'writer_id, seq, audit_id, row_sha, chain_sha', `'w', 1, 1, '', ''`],
        ['governance.audit_heads', 'writer_id, seq, chain_sha', `'w', 1, ''`],
        ['scm.patch_blobs', 'source_type', 'null'],
      ];
      for (const [table, columns, values] of rows) {
        await database.statement(`insert into {${table}} (${columns}) values (${values})`);
      }
    });

    it('refuses nothing by its form: hashes, states and actions are free', async () => {
      await database.statement(
        `insert into {logbook.outbox_memory} (target_space, payload_md, payload_sha, status) values ('x', '', '?', 'odd')`.replace(
          '?',
          '!',
        ),
      );
      await database.statement(
        `insert into {governance.write_audit} (action, evidence_refs_json) values ('odd', '[1]')`,
      );
      const { audit_stats: stats } = await logbook.reliability.figures();
      expect(stats).to.deep.include({ total: 1, allow: 0 });
      expect(stats.by_action).to.deep.include({ other: 1 });
    });

    it('remembers an active user for a second, and a missing one never', async () => {
      let now = 0;
      const users = createUsers(database, () => now);
      expect(await users.isActive('eve')).to.equal(false);
      expect(await users.add('eve', { displayName: 'Eve' })).to.equal(true);
      expect(await users.add('eve')).to.equal(false);
      expect(await users.isActive('eve')).to.equal(true);
      await database.statement(`update {identity.users} set is_active = ? where user_id = 'eve'`, [false]);
      expect(await users.isActive('eve')).to.equal(true);
      now += 1_001;
      expect(await users.isActive('eve')).to.equal(false);
      expect(await users.setActive('eve', true)).to.equal(true);
      expect(await users.setActive('nobody', true)).to.equal(false);
      expect(
        (await users.list()).map(({ userId, displayName, active }) => [userId, displayName, active]),
      ).to.deep.equal([['eve', 'Eve', true]]);
    });

    it('makes settings of a project, merges changes, and shows them at once', async () => {
      let now = 1_000_000;
      const settings = createGovernanceSettings(database, () => now);
      const elsewhere = createGovernanceSettings(database);
      expect(await settings.get('p')).to.deep.include({
        teamWriteEnabled: false,
        policy: {},
        version: 1,
        updatedBy: null,
      });
      const changed = await settings.update(
        'p',
        { teamWriteEnabled: true, policy: { a: 1, b: 2 } },
        { updatedBy: 'root' },
      );
      expect(changed).to.deep.include({
        teamWriteEnabled: true,
        policy: { a: 1, b: 2 },
        version: 2,
        updatedBy: 'root',
      });
      expect(await settings.get('p')).to.deep.include({ version: 2 });
      await settings.update('p', { policy: { a: null, c: { d: 1 } } }, { updatedBy: null });
      expect((await settings.get('p')).policy).to.deep.equal({ b: 2, c: { d: 1 } });
      expect((await settings.update('p', {}, { updatedBy: 'x' })).version).to.equal(3);
      await elsewhere.update('p', { policy: { b: 3 } }, { updatedBy: null });
      expect((await settings.get('p')).policy.b).to.equal(2);
      now += 1_001;
      expect((await settings.get('p')).policy.b).to.equal(3);
    });

    it('forgets a change of settings that was rolled back', async () => {
      await logbook.settings.get('p');
      await database
        .transaction(async (trx) => {
          await logbook.settings.update('p', { teamWriteEnabled: true }, { trx, updatedBy: null });
          throw new Error('no');
        })
        .catch(() => {});
      expect((await logbook.settings.get('p')).teamWriteEnabled).to.equal(false);
    });

    it('keeps values by name', async () => {
      expect(await logbook.kv.get('n', 'k')).to.equal(undefined);
      await logbook.kv.set('n', 'k', { a: [1] });
      await logbook.kv.set('n', 'k', null);
      expect(await logbook.kv.get('n', 'k')).to.equal(null);
      expect(await logbook.kv.get('other', 'k')).to.equal(undefined);
    });

    it('lets one memory have a dedup key, while it is written, queued or active', async () => {
      const first = memory({ payloadSha: 'same' });
      const second = memory({ payloadSha: 'same' });
      const third = memory({ payloadSha: 'same', metaSha: 'other' });
      expect([...(await logbook.ledger.insert([first, third]))]).to.have.members([first.memoryKey, third.memoryKey]);
      expect([...(await logbook.ledger.insert([second]))]).to.deep.equal([]);
      const hits = await logbook.ledger.findDuplicates([memory({ payloadSha: 'none' }), second, third]);
      expect(hits.map((hit) => hit?.memoryKey)).to.deep.equal([undefined, first.memoryKey, third.memoryKey]);
      for (const [state, isHit] of [
        ['writing', true],
        ['queued', true],
        ['dead', false],
        ['merged', false],
        ['void', false],
      ] as const) {
        await setState(first, state);
        const [hit] = await logbook.ledger.findDuplicates([second]);
        expect(hit !== null && hit !== undefined, state).to.equal(isHit);
      }
      expect((await logbook.ledger.insert([second])).size).to.equal(1);
    });

    const activated = (memoryKey: string) => ({
      memoryKey,
      backend: 'remote',
      backendMemoryId: `om_${memoryKey}`,
      dropsPayload: false,
    });
    const states: readonly LedgerState[] = ['writing', 'active', 'queued', 'dead', 'merged', 'void'];
    const transitions: readonly [
      name: string,
      from: readonly LedgerState[],
      to: LedgerState,
      run: (ledger: MemoryLedger, key: string) => Promise<boolean>,
    ][] = [
      ['activate', ['writing', 'queued'], 'active', async (l, key) => (await l.activate([activated(key)])).has(key)],
      ['queue', ['writing', 'active'], 'queued', (l, key) => l.queue(key, 7)],
      ['moveToDeadLetter', ['writing', 'queued'], 'dead', (l, key) => l.moveToDeadLetter(key, 7)],
      ['markMerged', ['writing', 'queued'], 'merged', (l, key) => l.markMerged(key, 7)],
      ['requeue', ['dead', 'merged'], 'queued', (l, key) => l.requeue(key)],
      ['markVoid', ['active'], 'void', (l, key) => l.markVoid(key)],
    ];
    for (const [name, from, to, run] of transitions) {
      it(`changes a memory by ${name} from ${from.join(' and ')} only`, async () => {
        for (const state of states) {
          const row = memory();
          await logbook.ledger.insert([row]);
          await setState(row, state);
          expect(await run(logbook.ledger, row.memoryKey), state).to.equal(from.includes(state));
          const [after] = await logbook.ledger.byKeys([row.memoryKey]);
          expect(after?.state, state).to.equal(from.includes(state) ? to : state);
        }
        expect(await run(logbook.ledger, 'mk_unknown')).to.equal(false);
      });
    }

    it('activates many memories at once, with their backend ids, and deletes the texts on request', async () => {
      const [stays, dropped] = [memory({ backendMemoryId: null }), memory({ backendMemoryId: null })];
      await logbook.ledger.insert([stays, dropped]);
      const done = await logbook.ledger.activate([
        activated(stays.memoryKey),
        { ...activated(dropped.memoryKey), dropsPayload: true },
      ]);
      expect([...done]).to.have.members([stays.memoryKey, dropped.memoryKey]);
      const rowOf = async ({ memoryKey }: NewMemory) => (await logbook.ledger.byKeys([memoryKey]))[0];
      expect(await rowOf(stays)).to.deep.include({
        backend: 'remote',
        backendMemoryId: `om_${stays.memoryKey}`,
        payload: stays.payload,
      });
      expect(await rowOf(dropped)).to.deep.include({ payload: null, payloadSha: dropped.payloadSha });
    });

    it('names the outbox row of a memory from queue on', async () => {
      const row = memory({ backendMemoryId: null });
      await logbook.ledger.insert([row]);
      const outboxId = async () => (await logbook.ledger.byKeys([row.memoryKey]))[0]?.outboxId;
      await logbook.ledger.queue(row.memoryKey, 41);
      expect(await outboxId()).to.equal(41);
      await logbook.ledger.moveToDeadLetter(row.memoryKey, 42);
      await logbook.ledger.requeue(row.memoryKey);
      expect(await outboxId()).to.equal(42);
    });

    it('does not queue a dead letter again whose memory was stored meanwhile', async () => {
      const [dead, stored] = [memory({ payloadSha: 'twice' }), memory({ payloadSha: 'twice' })];
      await logbook.ledger.insert([dead]);
      await setState(dead, 'dead');
      await logbook.ledger.insert([stored]);
      const error = await logbook.ledger.requeue(dead.memoryKey).catch((failure: unknown) => failure);
      expect(database.codec.errorKind(error)).to.equal('unique');
    });

    it('inserts any number of rows', async () => {
      const rows = Array.from({ length: 201 }, () => memory());
      expect((await logbook.ledger.insert(rows)).size).to.equal(201);
      const found = await logbook.ledger.byBackendIds(
        'local',
        rows.map(({ backendMemoryId }) => backendMemoryId ?? ''),
      );
      expect(found).to.have.length(201);
      expect(await logbook.ledger.byBackendIds('other', ['mem_1'])).to.deep.equal([]);
    });

    it('gives the newest of the spaces, through pages, by filters', async () => {
      const rows = Array.from({ length: 450 }, (_, n) =>
        memory({ space: `private:${n % 2}`, meta: { n }, kind: n < 2 ? 'OLD' : null }),
      );
      await logbook.ledger.insert(rows);
      const newest = async (filters = {}, limit = 3) =>
        (await logbook.ledger.newest({ spaces: ['private:0'], filters, limit })).map(({ meta }) => meta.n);
      expect(await newest()).to.deep.equal([448, 446, 444]);
      expect(await newest({ meta: { n: 2 } })).to.deep.equal([2]);
      expect(await newest({ kind: ['OLD'] })).to.deep.equal([0]);
      expect(await newest({}, 0)).to.deep.equal([]);
      await database.statement(`update {logbook.memories} set state = 'void' where space = 'private:0'`);
      expect(await newest()).to.deep.equal([]);
    });

    it('searches plain text literally, in any case, and by states', async () => {
      const [queued, dead] = [memory({ payload: 'Fifty 50% off_er' }), memory({ payload: 'FIFTY ÉTÉ' })];
      await logbook.ledger.insert([queued, dead, memory({ payload: 'fifty' })]);
      await setState(queued, 'queued');
      await setState(dead, 'dead');
      const search = async (phrase: string, terms: readonly string[] = []) =>
        (
          await logbook.ledger.searchText({
            question: { phrase, terms },
            spaces: ['private:a'],
            states: ['queued', 'dead'],
            filters: {},
            limit: 10,
          })
        ).map(({ memory: { payload }, score }) => [payload, score]);
      expect(await search('50%')).to.deep.equal([['Fifty 50% off_er', 1]]);
      expect(await search('5_%')).to.deep.equal([]);
      expect(await search('été')).to.deep.equal([['FIFTY ÉTÉ', 1]]);
      expect(await search('fifty offers', ['fifty', 'off_er'])).to.deep.equal([
        ['Fifty 50% off_er', 1],
        ['FIFTY ÉTÉ', 0.5],
      ]);
      expect(await search('')).to.deep.equal([]);
    });

    it('reports whether spaces have rows in some state', async () => {
      const queued = memory({ payload: 'waits', space: 'private:waiting' });
      await logbook.ledger.insert([queued, memory({ payload: 'is there', space: 'private:done' })]);
      await setState(queued, 'queued');
      const hasAny = (...spaces: string[]) => logbook.ledger.hasAny(spaces, ['queued', 'dead', 'merged']);
      expect(await hasAny('private:waiting')).to.equal(true);
      expect(await hasAny('private:done', 'private:waiting')).to.equal(true);
      expect(await hasAny('private:done')).to.equal(false);
      expect(await hasAny()).to.equal(false);
    });

    it('shows candidates of no space to those who ask for shared ones', async () => {
      const insert = (title: string, space: string | null) =>
        database.statement('insert into {analysis.knowledge_candidates} (title, target_space) values (?, ?)', [
          title,
          space,
        ]);
      await insert('harbour of all', null);
      await insert('harbour of the team', 'team:a');
      await insert('harbour of mine', 'private:me');
      const search = async (...spaces: string[]) =>
        (await logbook.candidates.search({ question: { phrase: 'harbour', terms: [] }, spaces, limit: 10 }))
          .map(({ title }) => title)
          .toSorted();
      expect(await search('team:a')).to.deep.equal(['harbour of all', 'harbour of the team']);
      expect(await search('private:me')).to.deep.equal(['harbour of mine']);
      expect(await search('org:b', 'private:me')).to.deep.equal(['harbour of all', 'harbour of mine']);
    });

    it('counts everything of the report in one place', async () => {
      const audit = (action: string, reason: string, status: string, json: object) =>
        database.statement(
          'insert into {governance.write_audit} (action, reason, status, evidence_refs_json) values (?, ?, ?, ?)',
          [action, reason, status, JSON.stringify(json)],
        );
      const outbox = (status: string) =>
        database.statement(
          `insert into {logbook.outbox_memory} (target_space, payload_md, payload_sha, status, retry_count) values ('s', 'p', 'x', ?, 2)`,
          [status],
        );
      await outbox('pending');
      await outbox('sent');
      await outbox('dead');
      const strict = { gateway_event: { evidence_source: 'v2', policy: { mode: 'strict' } } };
      await audit('allow', 'policy:policy_passed', 'success', strict);
      await audit('redirect', 'OPENMEMORY_WRITE_FAILED:timeout', 'redirected', { outbox_id: 1 });
      await audit('redirect', 'OPENMEMORY_WRITE_FAILED:timeout', 'redirected', { outbox_id: 2 });
      await audit('redirect', 'OPENMEMORY_WRITE_FAILED:timeout', 'redirected', { outbox_id: '3' });
      await audit('allow', 'outbox_flush_success', 'success', { outbox_id: 2 });
      await audit('reject', 'content_intercepted:diff', 'failed', { attachments: [{ uri: 'x' }] });
      await audit('reject', 'EVIDENCE_VALIDATION_FAILED:X', 'failed', { external: [{ uri: 'x' }] });
      await audit('allow', 'dedup_hit', 'pending', {});
      const figures = await logbook.reliability.figures();
      expect(figures.outbox_stats).to.deep.include({
        pending: 1,
        sent: 1,
        dead: 1,
        total: 3,
        avg_retry_count: 2,
        leased: 0,
        due: 1,
      });
      expect(figures.audit_stats).to.deep.include({
        allow: 3,
        redirect: 3,
        reject: 2,
        total: 8,
        by_reason: { policy: 1, openmemory_write_failed: 3, outbox_flush_success: 1, dedup_hit: 1, other: 2 },
        by_status: { pending: 1, success: 2, redirected: 3, failed: 2 },
        recent_24h: 8,
        success_rate: 3 / 8,
      });
      expect(figures.v2_evidence_stats).to.deep.include({
        total_audits_with_v2: 2,
        coverage_percent: 25,
        total_with_evidence: 3,
        invalid_evidence_count: 1,
        audit_mode_stats_7d: { total: 8, strict_mode_count: 1, compat_mode_count: 0, with_v2_evidence: 2 },
      });
      expect(figures.content_intercept_stats).to.deep.include({
        total: 1,
        diff_reject_count: 1,
        recent_24h_intercept: 1,
      });
      expect(figures.invariants).to.deep.equal([
        { id: '1', ok: true, left: 3, right: 3 },
        { id: '1-sent', ok: true, left: 1, right: 1 },
        { id: '1-dead', ok: false, left: 1, right: 0 },
        { id: '2', ok: true, left: 8, right: 8 },
      ]);
    });
  });
});
