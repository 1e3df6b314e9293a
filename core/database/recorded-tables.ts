import type { Dialect, Transaction } from '../sdk/host/database.js';
import { hostSchema, type Names, tableNames } from './names.js';
import type { Session } from './transaction.js';

/** The physical names of all existing tables. */
export const presentTables: Readonly<Record<Dialect, string>> = {
  postgres: `select schemaname || '.' || tablename as name from pg_catalog.pg_tables`,
  sqlite: `select name from sqlite_master where type = 'table'`,
};

/** Which plugin's migrations made which table, so that a table that was dropped by hand is noticed. */
export class RecordedTables {
  readonly #dialect: Dialect;
  readonly #session: Session;
  readonly #plugin: string;
  readonly #names: Names;
  readonly #records: string;

  constructor(dialect: Dialect, session: Session, plugin: string, names: Names) {
    this.#dialect = dialect;
    this.#session = session;
    this.#plugin = plugin;
    this.#names = names;
    this.#records = tableNames(hostSchema, dialect, [hostSchema]).table(`${hostSchema}.tables`);
  }

  /** The tables of a database whose migrations ran before tables were recorded are those in the plugin's schemas. */
  async adopt(): Promise<void> {
    const { rows } = await this.#session.statement(
      `select 1 as found from ${this.#records} where plugin = ? limit 1`,
      [this.#plugin],
      undefined,
    );
    if (rows.length > 0) return;
    await this.#add(await this.#present());
  }

  /** Records the tables that `run` creates and removes the records of those it drops, in its transaction. */
  async during(trx: Transaction, run: () => Promise<void>): Promise<void> {
    const before = new Set(await this.#present(trx));
    await run();
    const after = new Set(await this.#present(trx));
    await this.#add(
      [...after].filter((name) => !before.has(name)),
      trx,
    );
    for (const name of before) {
      if (!after.has(name)) await this.#session.statement(`delete from ${this.#records} where name = ?`, [name], trx);
    }
  }

  /** The tables in the plugin's schemas. */
  async #present(trx?: Transaction): Promise<readonly string[]> {
    const { rows } = await this.#session.statement<{ name: string }>(presentTables[this.#dialect], [], trx);
    return rows.map(({ name }) => name).filter((name) => this.#isOwn(name));
  }

  async #add(names: readonly string[], trx?: Transaction): Promise<void> {
    for (const name of names) {
      await this.#session.statement(
        `insert into ${this.#records} (name, plugin) values (?, ?) on conflict do nothing`,
        [name, this.#plugin],
        trx,
      );
    }
  }

  #isOwn(name: string): boolean {
    return this.#names.schemas.some((schema) =>
      name.startsWith(this.#dialect === 'postgres' ? `${this.#names.physicalSchema(schema)}.` : `${schema}_`),
    );
  }
}
