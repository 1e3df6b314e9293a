import { join } from 'node:path';
import { expect } from 'chai';
import { type FakeFault, startFakeOpenMemory } from 'mortise/contracts/memory-backend-openmemory/testing';
import { createTestHost, eachDatabase, type TestEngine, temporaryPath } from 'mortise/sdk/testing';
import { check } from '../check.js';
import { checkSnapshot } from '../check-snapshot.js';
import type { ClientRecord, JournalLine } from '../evidence.js';
import { readJournal } from '../read-backend.js';
import { countUnfinished, readDatabase } from '../read-database.js';
import { type Damageable, damagePostgres, damageSqlite } from './damageable.js';

type Json = Readonly<Record<string, unknown>>;

const proof = { uri: 'https://example.org/1', sha256: 'a'.repeat(64), notes: 'seen' };
const plain = 'https://example.org/2';

function inputOf(text: string): Json {
  return {
    payload_md: text,
    target_space: 'private:a',
    kind: 'FACT',
    meta_json: { text },
    evidence: [proof],
    evidence_refs: [plain],
    actor_user_id: 'ada',
    item_id: 7,
  };
}

function clientRecordOf(text: string, body: Json): ClientRecord {
  return {
    text,
    requestedSpace: 'private:a',
    landing: 'private:a',
    space: String(body.final_space),
    kind: 'FACT',
    meta: { text },
    evidence: [proof, { uri: plain, sha256: '' }],
    actor: 'ada',
    itemId: '7',
    correlationId: String(body.correlation_id),
    promised: body.ok === true ? 'stored' : body.outbox_status === 'dead' ? 'dead' : 'queued',
    memoryId: body.ok === true ? String(body.memory_id) : null,
    outboxId: body.outbox_id === null ? null : String(body.outbox_id),
  };
}

/** Memories, and the fault of their first call. */
const memories: readonly (readonly [text: string, fault: FakeFault | null])[] = [
  ['Stored.', null],
  ['Stored.', null],
  ['Delivered later.', { kind: 'success-false' }],
  ['Merged.', { kind: 'merge' }],
  ['Refused.', { kind: 'status', status: 422 }],
];

const audits = '{governance.write_audit}';
const outbox = '{logbook.outbox_memory}';

/** Damage to the database, and the violation that the checker must report. */
const damages: Readonly<Record<string, readonly [sql: string, expected: RegExp]>> = {
  'a deleted memory': [
    `delete from {logbook.memories} where payload_md = 'Stored.'`,
    /^kept: "Stored\." was acknowledged as stored and is not active in the ledger as om-1\.$/m,
  ],
  'a memory with another text': [
    `update {logbook.memories} set payload_md = 'Else.' where payload_md = 'Stored.'`,
    /^ledger: Memory mk_\w+ is active as om-1, but differs in the backend\.$/m,
  ],
  'a memory that lost its evidence': [
    `update {logbook.memories} set evidence_json = '[]' where payload_md = 'Stored.'`,
    /^kept: "Stored\." was acknowledged as stored and is in the ledger with another evidence\.$/m,
  ],
  'a memory of another item': [
    `update {logbook.memories} set item_id = 8 where payload_md = 'Stored.'`,
    /^kept: "Stored\." was acknowledged as stored and is in the ledger with another item\.$/m,
  ],
  'a dead letter of another actor': [
    `update ${outbox} set actor_user_id = 'eve' where payload_md = 'Refused.'`,
    /^kept: "Refused\." was acknowledged as dead and is in the outbox \(3\) with another actor\.$/m,
  ],
  'a deleted user': [`delete from {identity.users}`, /^placed: "Stored\." is of ada, which is not a user\.$/m],
  'a memory that is still being written': [
    `update {logbook.memories} set state = 'writing' where payload_md = 'Stored.'`,
    /^ledger: Memory mk_\w+ is writing\.$/m,
  ],
  'a deleted outbox row': [
    `delete from ${outbox} where payload_md = 'Delivered later.'`,
    /^kept: "Delivered later\." was acknowledged as queued and is not in the outbox as 1\.\n[\s\S]*^invariants: 1: 3 outages are audited, and the outbox has 2 rows\.$/m,
  ],
  'a duplicate outbox row': [
    `insert into ${outbox} (target_space, payload_md, payload_sha, status, memory_id)
     select target_space, payload_md, payload_sha, status, memory_id from ${outbox} where status = 'sent'`,
    /^invariants: 1: outbox row 4 has 0 audit rows of its outage\.$/m,
  ],
  'an outbox row that is stuck': [
    `update ${outbox} set status = 'pending' where status = 'sent'`,
    /^outbox: Outbox row 1 is pending\.$/m,
  ],
  'an outbox row that is still locked': [
    `update ${outbox} set locked_by = 'w1' where status = 'sent'`,
    /^outbox: Outbox row 1 is still held by w1\.$/m,
  ],
  'a dead letter without a reason': [
    `update ${outbox} set last_error = '' where status = 'dead'`,
    /^outbox: Outbox row 2 is dead without a reason\.$/m,
  ],
  'a delivery that never happened': [
    `update ${outbox} set memory_id = 'om-9' where status = 'sent'`,
    /^outbox: Outbox row 1 was sent, and the backend has no om-9\.$/m,
  ],
  'a request without its audit row': [
    `delete from ${audits} where reason = 'policy:private_space'`,
    /^audited: "Stored\." \(corr-\w+\) has no audit row\.$/m,
  ],
  'a request with two audit rows': [
    `insert into ${audits} (action, reason, status, operation, correlation_id)
     select action, reason, status, operation, correlation_id from ${audits} where reason = 'policy:private_space'`,
    /^audited: corr-\w+ has 2 audit rows\.$/m,
  ],
  'a decision that was never settled': [
    `update ${audits} set status = 'pending' where reason = 'policy:private_space'`,
    /^audited: Audit row 1 is still pending\.$/m,
  ],
  'a decision with another action': [
    `update ${audits} set action = 'reject' where reason = 'policy:private_space'`,
    /^audited: Audit row 1 \(reject policy:private_space\) does not say that "Stored\." was stored\.$/m,
  ],
  'a delivery without its audit row': [
    `delete from ${audits} where reason = 'outbox_flush_success'`,
    /^invariants: 1: no audit row says that outbox row 1 was sent\.$/m,
  ],
  'a dead letter without its audit row': [
    `delete from ${audits} where reason = 'outbox_flush_dead'`,
    /^invariants: 3: 0 audit rows say that outbox row 2 is dead\.$/m,
  ],
  'an outage without its audit row': [
    `delete from ${audits} where reason like 'OPENMEMORY%'`,
    /^invariants: 1: 0 outages are audited, and the outbox has 3 rows\.$/m,
  ],
  'an unknown action': [
    `update ${audits} set action = 'perhaps' where reason = 'dedup_hit'`,
    /^invariants: 2: audit row \d has the action perhaps\.$/m,
  ],
  'a lease that expired twice': [
    `insert into ${audits} (action, reason, evidence_refs_json) values
     ('redirect', 'outbox_stale', '{"outbox_id":1,"original_locked_at":"2026-01-01"}'),
     ('redirect', 'outbox_stale', '{"outbox_id":1,"original_locked_at":"2026-01-01"}')`,
    /^invariants: 3: the lease 1 2026-01-01 is recorded 2 times\.$/m,
  ],
  'a link that was altered': [
    `update {governance.audit_chain} set row_sha = chain_sha where seq = 2`,
    /^chain: In the chain of [\w-]+, link 2 does not follow from the previous one\.$/m,
  ],
  'a missing link': [
    `delete from {governance.audit_chain} where seq = 1`,
    /^chain: In the chain of [\w-]+, link 1 is missing\.$/m,
  ],
  'a truncated chain': [
    `delete from {governance.audit_chain} where seq = (select max(seq) from {governance.audit_chain})`,
    /^chain: In the chain of [\w-]+, link \d+ is the last, and its head is \d+\.$/m,
  ],
  'a head that was altered': [
    `update {governance.audit_heads} set chain_sha = ''`,
    /^chain: In the chain of [\w-]+, the hash of the head differs from that of the last link\.$/m,
  ],
  'an audit row that was altered': [
    `update ${audits} set principal = 'nobody' where reason = 'dedup_hit'`,
    /^chain: Audit row \d differs from its last link\.$/m,
  ],
  'an audit row whose time was altered': [
    `update ${audits} set ts = '2026-01-02T03:04:05.678Z' where reason = 'dedup_hit'`,
    /^chain: Audit row \d differs from its last link\.$/m,
  ],
  'an audit row whose update time was altered': [
    `update ${audits} set updated_at = '2026-01-02T03:04:05.678Z' where reason = 'dedup_hit'`,
    /^chain: Audit row \d differs from its last link\.$/m,
  ],
  'an audit row whose JSON was altered': [
    `update ${audits} set evidence_refs_json = '{}' where reason = 'outbox_flush_dead'`,
    /^chain: Audit row \d differs from its last link\.$/m,
  ],
  'an audit row outside the chain': [
    `insert into ${audits} (action, reason) values ('allow', 'mine')`,
    /^chain: Audit row \d+ is in no chain\.$/m,
  ],
};

/** Changes of the backend's journal, and the violation that the checker must report. */
const forgeries: Readonly<
  Record<string, readonly [forge: (lines: readonly JournalLine[]) => readonly JournalLine[], expected: RegExp]>
> = {
  'a memory that the backend lost': [
    (lines) => lines.filter(({ content }) => content !== 'Stored.'),
    /^kept: "Stored\." was acknowledged as stored and is not in the backend under om-1\.$/m,
  ],
  'a delivered memory that the backend lost': [
    (lines) => lines.filter(({ content }) => content !== 'Delivered later.'),
    /^kept: "Delivered later\." was acknowledged as queued and is not in the backend under om-2\.$/m,
  ],
  'a memory that lost its kind in delivery': [
    (lines) => lines.map((line) => ({ ...line, metadata: { ...line.metadata, kind: null } })),
    /^kept: "Stored\." was acknowledged as stored and is in the backend as om-1 with another kind\.$/m,
  ],
  'a memory that lost its meta in delivery': [
    (lines) => lines.map((line) => ({ ...line, metadata: { ...line.metadata, text: 'else' } })),
    /is in the backend as om-1 with another meta\.$/m,
  ],
  'a memory that lost its evidence in delivery': [
    (lines) => lines.map((line) => ({ ...line, metadata: { ...line.metadata, evidence: [proof] } })),
    /is in the backend as om-1 with another evidence\.$/m,
  ],
  'a memory that lost its actor in delivery': [
    (lines) => lines.map((line) => ({ ...line, metadata: { ...line.metadata, actor_user_id: null } })),
    /is in the backend as om-1 with another actor\.$/m,
  ],
  'a memory that the backend has twice': [
    (lines) => [...lines, ...lines.slice(0, 1).map((line) => ({ ...line, id: 'om-9' }))],
    /^once: mk_\w+ is in the backend 2 times: om-1, om-9\.\n[\s\S]*^once: "Stored\." is in the backend as om-1, om-9\.$/m,
  ],
  'a memory that no client requested': [
    (lines) => [...lines, ...lines.slice(0, 1).map((line) => ({ ...line, id: 'om-9', content: 'Whose?' }))],
    /^once: "Whose\?" is in the backend, and no client requested it\.$/m,
  ],
};

describe('the checker', () => {
  eachDatabase(
    (engine: TestEngine) => {
      let database: Damageable;
      let journal: readonly JournalLine[];
      let clientRecords: ClientRecord[];

      before(async () => {
        const dataDir = temporaryPath('checked');
        const journalFile = `${dataDir}.jsonl`;
        const server = await startFakeOpenMemory({ journalFile });
        const host = await createTestHost({
          plugins: ['memory-outbox', 'memory-backend-openmemory', 'memory-backend-local'],
          env: { OPENMEMORY_BASE_URL: server.origin, MORTISE_OUTBOX_WORKER: 'false' },
          database: engine.env,
          dataDir,
        });
        await host.service('logbook').users.add('ada');
        clientRecords = [];
        for (const [text, fault] of memories) {
          if (fault !== null) server.fail('add', fault);
          clientRecords.push(
            clientRecordOf(text, (await (await host.post('/memory/store', inputOf(text))).json()) as Json),
          );
        }
        await host.points.call('command', 'memory-outbox-worker', (command, ctx) =>
          command.run({ args: [], options: { once: true }, json: true }, ctx),
        );
        await host.stop();
        await server.stop();
        journal = await readJournal(journalFile);
        const { settings } = engine;
        database =
          settings.dialect === 'postgres' && typeof settings.connection === 'object'
            ? await damagePostgres(settings.connection)
            : await damageSqlite(join(dataDir, 'data', 'mortise.db'));
      });

      const report = async (lines: readonly JournalLine[] = journal): Promise<string> => {
        const reader = await database.read();
        const found = await readDatabase(reader).finally(() => reader.close());
        const violations = check({ ...found, journal: lines, clientRecords });
        return violations.map(({ rule, what }) => `${rule}: ${what}`).join('\n');
      };

      const snapshot = async () => {
        const reader = await database.read();
        try {
          return { snapshot: await checkSnapshot(reader), unfinished: await countUnfinished(reader) };
        } finally {
          await reader.close();
        }
      };

      it('finds no violation in the results of the product', async () => {
        expect(clientRecords.map(({ promised }) => promised)).to.deep.equal([
          'stored',
          'stored',
          'queued',
          'dead',
          'dead',
        ]);
        expect(await report()).to.equal('');
        expect(await snapshot()).to.deep.equal({
          snapshot: [],
          unfinished: { outboxPending: 0, auditsPending: 0, memoriesUnfinished: 0, failedAttempts: 0 },
        });
      });

      describe('reports', () => {
        afterEach(() => database.restore());

        for (const [what, [sql, expected]] of Object.entries(damages)) {
          it(what, async () => {
            await database.damage(sql);
            expect(await report()).to.match(expected);
          });
        }

        for (const [what, [forge, expected]] of Object.entries(forgeries)) {
          it(what, async () => {
            expect(await report(forge(journal))).to.match(expected);
          });
        }

        it('a memory in a space that the policy forbids', async () => {
          const [first] = clientRecords as [ClientRecord, ...ClientRecord[]];
          clientRecords[0] = { ...first, landing: 'team:a' };
          const reported = await report();
          clientRecords[0] = first;
          expect(reported).to.match(/^placed: "Stored\." belongs in team:a but is in private:a\.$/m);
        });

        it('a decision that names another space', async () => {
          const [first] = clientRecords as [ClientRecord, ...ClientRecord[]];
          clientRecords[0] = { ...first, requestedSpace: 'team:a' };
          const reported = await report();
          clientRecords[0] = first;
          expect(reported).to.match(
            /^audited: Audit row 1 \(allow policy:private_space\) does not say that "Stored\."/m,
          );
        });

        it('violations that must never occur, in a snapshot', async () => {
          await database.damage(`delete from ${audits} where reason = 'outbox_flush_success'`);
          await database.damage(`delete from ${audits} where reason = 'OPENMEMORY_WRITE_FAILED:merged'`);
          await database.damage(`update ${audits} set action = 'perhaps' where reason = 'dedup_hit'`);
          await database.damage(`update ${outbox} set status = 'pending' where outbox_id = 3`);
          expect(await snapshot()).to.deep.equal({
            snapshot: [
              '1: 2 outages are audited, and the outbox has 3 rows.',
              '2: 1 audit rows have an unknown action.',
              '1: 1 rows are sent, and 0 of them have the audit row.',
            ],
            unfinished: { outboxPending: 1, auditsPending: 0, memoriesUnfinished: 0, failedAttempts: 0 },
          });
        });
      });
    },
    { keepRows: true },
  );
});
