import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { freezePostgres, ownPostgres, silentLog, testDialects } from 'mortise/sdk/testing';
import type { Database } from '../../sdk/host/database.js';
import { testServerAddress } from '../../sdk/testing/test-database.js';
import { until } from '../../sdk/testing/until.js';
import { type DatabaseHost, openDatabase } from '../open-database.js';
import type { PostgresAddress } from '../settings.js';
import { errorOf } from './expect-error.js';

const describeOnPostgres = testDialects().includes('postgres') ? describe : () => {};

const insert = 'insert into {notes.notes} (text) values (?)';
const answerTimeoutMs = 400;

describeOnPostgres('a PostgreSQL server that accepts data and does not answer', () => {
  let server: Awaited<ReturnType<typeof ownPostgres>>;
  let parts: PostgresAddress;
  let host: DatabaseHost;
  let notes: Database;

  before(async () => {
    server = await ownPostgres();
    parts = await testServerAddress(server.port);
  });

  // Before the hooks that close, which would hang if a test timed out before it thawed the server.
  let thaw = (): void => {};
  afterEach(() => thaw());
  afterEach(() => host.close());
  after(() => server.dispose());

  async function open(connection: PostgresAddress): Promise<void> {
    host = await openDatabase({ dialect: 'postgres', connection, answerTimeoutMs, connectTimeoutMs: 500 }, silentLog);
    notes = host.forPlugin('notes', ['notes']);
    await notes.migrate([
      {
        name: '0001-notes',
        up: (schema) =>
          schema.createTable('notes.notes', (table) => {
            table.text('text').notNullable().unique();
          }),
      },
    ]);
  }

  const texts = async (like: string): Promise<string[]> => {
    const { rows } = await notes.statement<{ text: string }>(
      'select text from {notes.notes} where text like ? order by text',
      [like],
    );
    return rows.map(({ text }) => text);
  };

  it('fails waiting calls in time, as unreachable, and recovers by itself', async () => {
    await open(parts);
    await notes.statement(insert, ['frozen: kept']);
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    const { promise: frozen, resolve: resume } = Promise.withResolvers<void>();
    // One connection is inside a transaction during the freeze, the others are idle or not open yet.
    const inside = errorOf(
      notes.transaction(async (trx) => {
        await notes.statement(insert, ['frozen: rolled back'], { trx });
        hold();
        await frozen;
        await notes.query({ trx }).raw('select 1 as one');
      }),
    );
    await held;
    ({ thaw } = await freezePostgres(notes));
    resume();
    const began = performance.now();
    const failures = await Promise.all([
      inside,
      ...Array.from({ length: 20 }, (_, index) => errorOf(notes.statement(insert, [`frozen: ${index}`]))),
    ]);
    for (const failure of failures) {
      expect(notes.codec.errorKind(failure)).to.equal('unavailable');
      expect(failure).to.include({ code: 'database_unavailable', status: 503, retryable: true });
      expect(failure.message).not.to.include(String(server.port));
    }
    expect(await notes.ping(1_000)).to.equal(false);
    expect(performance.now() - began).to.be.lessThan(12_000);
    thaw();
    await until('it serves again', () => notes.ping());
    // The statements may have been executed: a unique key makes sending them again safe.
    for (let index = 0; index < 20; index += 1) {
      await notes.statement(`${insert} on conflict (text) do nothing`, [`frozen: ${index}`]);
    }
    const kept = await texts('frozen: %');
    expect(kept).to.have.length(21).and.to.include('frozen: kept');
  });

  it('is not considered silent while it is working', async () => {
    await open(parts);
    const sleepSeconds = (answerTimeoutMs * 5) / 1_000;
    const { rows } = await notes.statement('select pg_sleep(?)::text as slept', [sleepSeconds]);
    expect(rows).to.have.length(1);
    // And while a statement waits for a lock.
    const { promise: held, resolve: hold } = Promise.withResolvers<void>();
    const holder = notes.transaction(async (trx) => {
      await notes.statement(insert, ['locked'], { trx });
      hold();
      await notes.statement('select pg_sleep(?)::text as slept', [sleepSeconds], { trx });
    });
    await held;
    const { changes } = await notes.statement(`${insert} on conflict (text) do nothing`, ['locked']);
    expect(changes).to.equal(0);
    await holder;
  });

  it('uses its other connections when one of them no longer answers', async () => {
    const way = await openProxy(server.port);
    try {
      await open({ ...parts, port: way.port });
      await notes.statement(insert, ['nowhere: kept']);
      way.swallow();
      const failure = await errorOf(notes.statement(insert, ['nowhere: lost']));
      expect(failure).to.include({ code: 'database_unavailable', retryable: true });
      await notes.statement(insert, ['nowhere: on a new connection']);
      expect(await texts('nowhere: %')).to.deep.equal(['nowhere: kept', 'nowhere: on a new connection']);
    } finally {
      await host.close();
      way.close();
    }
  });
});

/** A proxy to the server that can drop its connections silently, as a router does, and still opens new ones. */
async function openProxy(target: number): Promise<{ readonly port: number; swallow(): void; close(): void }> {
  const sockets: Socket[] = [];
  const way: Server = createServer((from) => {
    const to = connect(target, '127.0.0.1');
    sockets.push(from, to);
    for (const socket of [from, to]) socket.on('error', () => {});
    from.pipe(to);
    to.pipe(from);
  });
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve));
  const address = way.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    swallow() {
      for (const socket of sockets) socket.unpipe().resume();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      way.close();
    },
  };
}
