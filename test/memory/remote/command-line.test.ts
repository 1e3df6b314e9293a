import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { type Ended, type OfflineFolder, offlineFolder, runCli } from '../../../core/cli/test/run-cli.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

describe('the memory commands in a separate process', () => {
  eachDatabase(
    (engine: TestEngine) => {
      let folder: OfflineFolder;
      /** The command line cannot find this server, so every command runs offline. */
      let memory: RemoteMemory;
      before(async () => {
        folder = await offlineFolder({}, engine.env);
        memory = await startRemoteMemory(engine, { dataDir: folder.folder });
      });
      after(async () => {
        await memory.stop();
        await folder.dispose();
      });

      const run = (...args: readonly string[]): Promise<Ended> =>
        runCli(args, { ...folder.env, OPENMEMORY_BASE_URL: memory.server.origin });
      const lines = ({ stdout }: Ended) => stdout.trimEnd().split('\n');
      const outboxRow = (columns: Json) => {
        const all: Json = {
          target_space: 'private:a',
          payload_md: 'By hand.',
          payload_sha: 'f'.repeat(64),
          ...columns,
        };
        return memory.database.statement(
          `insert into {logbook.outbox_memory} (${Object.keys(all).join(', ')})
           values (${Object.keys(all).map(() => '?')})`,
          Object.values(all).map(String),
        );
      };
      const audits = () => memory.count('governance.write_audit');

      describe('memory reconcile', () => {
        it('finds nothing in an empty database: five lines, or JSON, and exit 0, under each of its names', async () => {
          for (const words of [['memory', 'reconcile'], ['reconcile_outbox']]) {
            const ended = await run(...words, '--once');
            expect(ended.code, ended.stderr).to.equal(0);
            expect(lines(ended)).to.deep.equal([
              '=== Outbox Reconcile Report ===',
              'Total scanned: 0',
              '  - sent:  0 (missing audit: 0, fixed: 0)',
              '  - dead:  0 (missing audit: 0, fixed: 0)',
              '  - stale: 0 (missing audit: 0, fixed: 0, rescheduled: 0)',
            ]);
          }
          for (const [option, mode] of [
            ['--report', 'report'],
            ['--once', 'repair'],
          ] as const) {
            const ended = await run('memory', 'reconcile', option, '--json');
            expect(ended.code).to.equal(0);
            expect(ended.json()).to.deep.include({ ok: true, exit_code: 0, mode, total_scanned: 0 });
          }
        });

        it('exits with 1 while an audit row is missing, repairs it, and exits with 0', async () => {
          await outboxRow({ status: 'sent', memory_id: 'om-1' });
          const before = await audits();
          const reported = await run('memory', 'reconcile', '--report');
          expect([reported.code, lines(reported)[2]]).to.deep.equal([1, '  - sent:  1 (missing audit: 1, fixed: 0)']);
          expect(await audits()).to.equal(before);
          const repaired = await run('memory', 'reconcile', '--once', '-v');
          expect([repaired.code, lines(repaired)[2]]).to.deep.equal([0, '  - sent:  1 (missing audit: 1, fixed: 1)']);
          expect(repaired.stderr).to.match(/outbox \d+ \(sent\): missing_audit, fixed/);
          const again = await run('memory', 'reconcile', '--once');
          expect([again.code, lines(again)[2]]).to.deep.equal([0, '  - sent:  1 (missing audit: 0, fixed: 0)']);
        });

        it('frees a stale lease, each time', async () => {
          const locked_at = () => new Date(Date.now() - 660_000).toISOString();
          await outboxRow({ locked_by: 'gone', locked_at: locked_at() });
          const stale = async () => lines(await run('memory', 'reconcile', '--once'))[4];
          expect(await stale()).to.equal('  - stale: 1 (missing audit: 1, fixed: 1, rescheduled: 1)');
          expect(await stale()).to.equal('  - stale: 0 (missing audit: 0, fixed: 0, rescheduled: 0)');
          await memory.database.statement(
            `update {logbook.outbox_memory} set locked_by = 'gone', locked_at = ? where status = 'pending'`,
            [memory.database.codec.time(Date.now() - 900_000)],
          );
          expect(await stale()).to.equal('  - stale: 1 (missing audit: 1, fixed: 1, rescheduled: 1)');
          await memory.deliver();
        });

        it('exits with 2 for wrong usage, and when the database is down', async () => {
          for (const args of [[], ['--once', '--report'], ['--once', '--bogus']]) {
            expect((await run('memory', 'reconcile', ...args)).code, args.join(' ')).to.equal(2);
          }
          const away = await offlineFolder(
            { 'memory-reconcile': { enabled: true } },
            { DATABASE_URL: 'postgres://x@127.0.0.1:1/y' },
          );
          try {
            const ended = await away.run('memory', 'reconcile', '--once');
            expect([ended.code, ended.stdout]).to.deep.equal([2, '']);
            expect(ended.stderr).to.match(/^\[database_unreachable\]/);
          } finally {
            await away.dispose();
          }
        });
      });

      describe('the other memory commands', () => {
        it('users: are added once, listed, disabled and enabled again', async () => {
          expect((await run('memory', 'users', 'add', 'alice', '--name', 'Alice A.')).code).to.equal(0);
          expect((await run('memory', 'users', 'add', 'alice')).code).to.equal(1);
          expect((await run('memory', 'users', 'disable', 'bob')).code).to.equal(1);
          expect((await run('memory', 'users', 'disable', 'alice')).code).to.equal(0);
          const { users } = (await run('memory', 'users', 'list', '--json')).json<{ users: readonly Json[] }>();
          expect(users).to.have.length(1);
          expect(users[0]).to.deep.include({ userId: 'alice', displayName: 'Alice A.', active: false });
          expect((await run('memory', 'users', 'rename', 'x')).code).to.equal(2);
          const unfit = await run('memory', 'users', 'add', ' bad ');
          expect([unfit.code, unfit.stderr.split('\n')[0]]).to.deep.equal([
            2,
            '[cli_error] A user name has 1 to 128 characters, without control characters or surrounding blanks.',
          ]);
          expect((await run('memory', 'users', 'enable', 'bob')).code).to.equal(1);
          expect((await run('memory', 'users', 'enable', 'alice')).stdout).to.equal('Enabled alice.\n');
          const again = (await run('memory', 'users', 'list', '--json')).json<{ users: readonly Json[] }>();
          expect(again.users[0]).to.deep.include({ userId: 'alice', active: true });
          const { rows } = await memory.host.service('audit').query({ operation: 'memory-gateway:users' });
          expect(rows.map(({ reason }) => reason)).to.deep.equal([
            'memory-gateway:user_enabled',
            'memory-gateway:user_disabled',
            'memory-gateway:user_added',
          ]);
        });

        it('export: prints the ledger of a space as JSON lines, oldest first', async () => {
          for (const payload_md of ['First.', 'Second\nline.']) {
            await memory.store({ payload_md, target_space: 'private:export', kind: 'FACT', meta_json: { a: 1 } });
          }
          const rows = lines(await run('memory', 'export', '--space', 'private:export')).map(
            (line) => JSON.parse(line) as Json,
          );
          expect(rows.map(({ payload_md }) => payload_md)).to.deep.equal(['First.', 'Second\nline.']);
          expect(rows[0]).to.deep.include({
            space: 'private:export',
            kind: 'FACT',
            meta_json: { a: 1 },
            state: 'active',
          });
          const none = await run('memory', 'export', '--space', 'private:none');
          expect([none.code, none.stdout]).to.deep.equal([0, '']);
          const malformed = await run('memory', 'export', '--space', 'foo:bar');
          expect([malformed.code, malformed.stderr.split('\n')[0]]).to.deep.equal([
            2,
            '[cli_error] --space: a space must start with private:, team: or org:.',
          ]);
          expect((await run('memory', 'export')).code).to.equal(2);
        });

        it('outbox and outbox-worker: show, retry, deliver, and exit with 1 after a failure', async () => {
          await memory.storeUnder({ kind: 'status', status: 400 }, 'Dead.');
          const waits = (await memory.storeUnder({ kind: 'success-false' }, 'Waits.')).body.outbox_id;
          const dead = await run('memory', 'outbox', 'list', '--status', 'dead', '--json');
          const id = String(dead.json<{ rows: { outbox_id: number }[] }>().rows[0]?.outbox_id);
          expect((await run('memory', 'outbox', 'show', id)).stdout).to.contain('Dead.');
          expect((await run('memory', 'outbox', 'retry', String(waits))).code).to.equal(1);
          const retried = await run('memory', 'outbox', 'retry', '--all-dead');
          expect([retried.code, retried.stdout]).to.deep.equal([0, 'Retrying 1 dead letter.\n']);
          memory.server.fail('add', { kind: 'status', status: 500 });
          const failed = await run('memory', 'outbox-worker', '--once', '--worker-id', 'by-hand', '--json');
          expect(failed.code).to.equal(1);
          expect(failed.json()).to.deep.include({ worker_id: 'by-hand', claimed: 2, sent: 1, retried: 1 });
          const idle = await run('memory', 'outbox-worker', '--once');
          expect([idle.code, idle.stdout]).to.deep.equal([0, 'Delivered 0 of 0.\n']);
          expect((await run('memory', 'outbox-worker')).code).to.equal(2);
        });

        it('recover and report: print their results', async () => {
          const recovered = await run('memory', 'recover');
          expect([recovered.code, recovered.stdout]).to.deep.equal([
            0,
            'Settled 0 (stored: 0, queued: 0, unresolved: 0).\n',
          ]);
          const { rows } = await memory.database.statement<{ outbox_id: number }>(
            `select outbox_id from {logbook.outbox_memory} where payload_md = 'By hand.'`,
          );
          const reason = 'OPENMEMORY_WRITE_FAILED:timeout';
          for (const { outbox_id } of rows) {
            const entry = { action: 'redirect', operation: 'test', reason, evidence: { outbox_id } } as const;
            await memory.host.service('audit').write(entry);
          }
          const sound = await run('memory', 'report');
          expect([sound.code, lines(sound).at(-1)]).to.deep.equal([0, 'Rules:    all invariants hold']);
          await outboxRow({});
          const broken = await run('memory', 'report', '--json');
          expect(broken.code).to.equal(1);
          expect(broken.json().message).to.match(/^Violated invariants: 1 \(/);
        });

        it('audit: lists by its filters, and reports the first row that was altered', async () => {
          const listed = await run(
            'memory',
            'audit',
            'list',
            '--reason-prefix',
            'memory-gateway:',
            '--limit',
            '1',
            '--json',
          );
          expect(listed.code).to.equal(0);
          expect(listed.json<{ rows: readonly Json[] }>().rows[0]).to.deep.include({
            reason: 'memory-gateway:user_enabled',
          });
          expect((await run('memory', 'audit', 'list', '--limit', 'x')).code).to.equal(2);
          const sound = await run('memory', 'audit', 'verify');
          expect([sound.code, sound.stdout.slice(0, 27)]).to.deep.equal([0, 'The audit chain is intact: ']);
          const entry = { action: 'reject', operation: 'test', reason: 'test:true' } as const;
          const id = await memory.host.service('audit').write(entry);
          await memory.database.statement(
            `update {governance.write_audit} set action = 'allow' where audit_id = ${Number(id)}`,
          );
          const broken = await run('memory', 'audit', 'verify');
          expect(broken.code).to.equal(1);
          expect(broken.stdout).to.match(new RegExp(`^The audit chain is broken at audit row ${id} .*row_altered`));
        });
      });
    },
    { keepRows: true },
  );
});
