import { createServer } from 'node:net';
import { expect } from 'chai';
import { ownPostgres, silentLog, testDialects } from 'mortise/sdk/testing';
import { testServerAddress } from '../../sdk/testing/test-database.js';
import { until } from '../../sdk/testing/until.js';
import { shortReason } from '../errors.js';
import { type DatabaseHost, type OpenOptions, openDatabase } from '../open-database.js';
import type { PostgresSettings } from '../settings.js';
import { errorOf } from './expect-error.js';

const describeOnPostgres = testDialects().includes('postgres') ? describe : () => {};

describeOnPostgres('the PostgreSQL server', () => {
  let server: Awaited<ReturnType<typeof ownPostgres>>;
  let settings: PostgresSettings;
  const hosts: DatabaseHost[] = [];

  before(async () => {
    server = await ownPostgres();
    settings = { dialect: 'postgres', connection: await testServerAddress(server.port) };
  });

  afterEach(() => Promise.all(hosts.splice(0).map((host) => host.close())));
  after(() => server.dispose());

  async function open(to: PostgresSettings, options?: OpenOptions): Promise<DatabaseHost> {
    const host = await openDatabase(to, silentLog, options);
    hosts.push(host);
    return host;
  }

  it('reports soon that it has space again, and keeps no trace of the check', async () => {
    let regained = 0;
    const host = await open(settings, { onSpace: () => (regained += 1), spaceTrialMs: 200 });
    const database = host.forPlugin('notes', []);
    // The error of a server whose disk is full.
    const refused = database.statement(`do $$ begin raise exception using errcode = '53100'; end $$`);
    expect(database.codec.errorKind(await errorOf(refused))).to.equal('full');
    expect(await database.canWrite()).to.equal(false);
    await until('there is space again', () => database.canWrite());
    expect(regained).to.equal(1);
    const left = await database.statement(`select relname from pg_class where relname like '%space_trial%'`);
    expect(left.rows).to.deep.equal([]);
  });

  it('may be restarted: calls in between fail with an error kind, later calls succeed', async () => {
    const host = await open(settings, { instances: { heartbeatMs: 50 } });
    const database = host.forPlugin('bell', []);
    const heard: string[] = [];
    await database.listen('ring', (payload) => heard.push(payload), { missed: () => heard.push('missed') });
    const lease = await host.leases.tryAcquire('through the storm', { ttlMs: 60_000 });
    const cut = errorOf(
      database.transaction(async (trx) => {
        await database.statement('select 1 as one', [], { trx });
        await server.stop();
        await database.statement('select 1 as one', [], { trx });
      }),
    );
    expect(database.codec.errorKind(await cut)).to.equal('unavailable');
    const down = await errorOf(database.statement('select 1 as one'));
    expect(database.codec.errorKind(down)).to.equal('unavailable');
    expect(down).to.include({ code: 'database_unavailable', status: 503, retryable: true });
    // The caller's error does not contain the address of the database; the log does.
    expect((down as Error).message).to.equal('The database does not answer at the moment.');
    expect(shortReason(down)).to.match(/ECONNREFUSED/);
    expect(await database.ping(500)).to.equal(false);
    await server.start();
    await until('the pool recovers', () => database.ping());
    await until('the listener is back', () => heard.includes('missed'));
    await database.notify('ring', 'after');
    await until('it hears', () => heard.includes('after'));
    expect(await host.instances.isAlive(host.instances.id)).to.equal(true);
    expect(lease?.signal.aborted).to.equal(false);
  });

  it('is awaited when it starts a moment later', async () => {
    await server.stop();
    const opening = open(settings, { retryMs: 20_000 });
    await server.start();
    const host = await opening;
    expect(await host.forPlugin('any', []).ping()).to.equal(true);
  });

  it('is reported without its password when it stays unreachable', async () => {
    const port = await unusedPort();
    const parts = { host: '127.0.0.1', port, user: 'me', password: 'hush', database: 'mortise_test' };
    for (const connection of [parts, `postgres://me:hush@127.0.0.1:${port}/mortise_test`]) {
      const error = await errorOf(openDatabase({ dialect: 'postgres', connection }, silentLog, { retryMs: 300 }));
      expect(error).to.include({ code: 'database_unreachable' });
      expect(error.message).to.include(`127.0.0.1:${port}/mortise_test`).and.to.include('ECONNREFUSED');
      expect(JSON.stringify(error) + error.message).not.to.include('hush');
    }
  });

  it('is not retried after it refuses the connection', async () => {
    const connection = { ...(await testServerAddress(server.port)), database: 'nobody_made_this' };
    const began = performance.now();
    const error = await errorOf(openDatabase({ dialect: 'postgres', connection }, silentLog));
    expect(error).to.include({ code: 'database_refused' });
    expect(performance.now() - began).to.be.lessThan(5_000);
  });

  it('ends a statement that waits for a lock, or runs, for too long', async () => {
    const host = await open(settings);
    const database = host.forPlugin('any', []);
    const limit = async (name: string) =>
      (await database.statement<{ value: string }>('select current_setting(?) as value', [name])).rows[0]?.value;
    expect(await limit('lock_timeout')).to.equal('10s');
    expect(await limit('statement_timeout')).to.equal('30s');
    expect(await limit('TimeZone')).to.equal('UTC');
    const slow = await errorOf(
      database.transaction(async (trx) => {
        await trx.raw('set local statement_timeout = 20');
        await trx.raw('select pg_sleep(5)');
      }),
    );
    expect(database.codec.errorKind(slow)).to.equal('timeout');
  });

  it('keeps times with the precision of the codec, so that a time that was read finds its row', async () => {
    const database = (await open(settings)).forPlugin('clock', ['clock']);
    await database.migrate([
      { name: '0001', up: (schema) => schema.createTable('clock.times', (_, columns) => void columns.time('at')) },
    ]);
    const { rows } = await database.statement<{ at: string }>(
      `insert into {clock.times} (at) values ('2026-01-01 10:00:00.123456+00') returning at`,
    );
    const found = await database.statement('select at from {clock.times} where at = ?', [rows[0]?.at ?? '']);
    expect(found.rows).to.deep.equal([{ at: '2026-01-01T10:00:00.123Z' }]);
  });

  it('uses the configured name of a schema for its tables', async () => {
    const host = await open({ ...settings, schema: 'team_a' });
    const database = host.forPlugin('sessions', ['realtime', 'other']);
    await database.migrate([
      { name: '0001', up: (schema) => schema.createTable('realtime.rows', (t) => t.text('text')) },
    ]);
    expect(database.table('realtime.rows')).to.equal('team_a.rows');
    expect(database.table('other.rows')).to.equal('other.rows');
    await database.statement('select text from team_a.rows');
  });
});

function unusedPort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
