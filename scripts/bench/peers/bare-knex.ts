/**
 * Only commits the rows of memory stores with knex: the upper bound of any server that stores them on SQLite. Copies
 * the tables that grow with every store from a database that a server has filled, without their unique constraints, so
 * that the same rows can be written again; the settings are those of the server (WAL, a flush at every commit).
 *
 *     bare-knex.js DATABASE_FILE, then over IPC: {storesPerTransaction, seconds} -> stores per second
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';

interface GrowingTable {
  readonly name: string;
  /** The rows of one store, in turn. */
  readonly rows: readonly (readonly Record<string, unknown>[])[];
}

interface Order {
  readonly storesPerTransaction: number;
  readonly seconds: number;
}

const samples = 100;
const [databaseFile = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'mortise-bare-'));

function open(filename: string): Knex {
  return knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true });
}

async function readGrowing(source: Knex): Promise<readonly GrowingTable[]> {
  const named: { readonly name: string }[] = await source('sqlite_master')
    .select('name')
    .where({ type: 'table' })
    .whereNot('name', 'like', 'sqlite_%');
  const counted = [];
  for (const { name } of named) {
    const [row] = await source(name).count({ rows: '*' });
    counted.push({ name, rows: Number(row?.rows) });
  }
  // Every store writes one row of the audit trail, which is the largest table that grows by one.
  const stores = counted.find(({ name }) => name === 'governance_write_audit')?.rows ?? 0;
  const growing = counted.filter(({ rows }) => rows >= stores * 0.9);
  const tables = [];
  for (const { name, rows } of growing) {
    const each = Math.max(1, Math.round(rows / stores));
    const last: Record<string, unknown>[] = await source(name)
      .orderBy(source.raw('rowid'), 'desc')
      .limit(samples * each);
    tables.push({ name, rows: Array.from({ length: samples }, (_, at) => last.slice(at * each, (at + 1) * each)) });
  }
  return tables;
}

async function copyTables(source: Knex, target: Knex, tables: readonly GrowingTable[]): Promise<void> {
  await target.raw('pragma journal_mode = WAL');
  await target.raw('pragma synchronous = FULL');
  for (const { name, rows } of tables) {
    const columns = Object.keys(rows[0]?.[0] ?? {});
    await target.raw(`create table ${name} (${columns.map((column) => `"${column}"`).join(', ')})`);
    const indexes: { readonly sql: string }[] = await source('sqlite_master')
      .select('sql')
      .where({ type: 'index', tbl_name: name })
      .whereNotNull('sql');
    for (const { sql } of indexes) await target.raw(sql.replace(/create unique index/i, 'create index'));
  }
}

const source = open(databaseFile);
const target = open(join(folder, 'bare.db'));
const tables = await readGrowing(source);
await copyTables(source, target, tables);
await source.destroy();

let stored = 0;

async function storeSome(count: number): Promise<void> {
  await target.transaction(async (trx) => {
    for (let one = 0; one < count; one += 1) {
      for (const { name, rows } of tables) await trx(name).insert(rows[stored % samples] ?? []);
      stored += 1;
    }
  });
}

async function run({ storesPerTransaction, seconds }: Order): Promise<number> {
  const from = performance.now();
  const before = stored;
  while (performance.now() - from < seconds * 1_000) {
    await storeSome(storesPerTransaction);
    // The driver frees statements in the next tick of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return (stored - before) / ((performance.now() - from) / 1_000);
}

process.on('message', async (order: Order) => process.send?.(await run(order)));
process.on('disconnect', async () => {
  await target.destroy();
  await rm(folder, { recursive: true, force: true });
});
process.send?.('ready');
