import type { Knex } from 'knex';
import type { TransactionFacts, TransactionWork } from './engine.js';
import { databaseError } from './errors.js';
import { knexOnDemand, type OpenTransaction } from './knex-transaction.js';
import type { SingleConnection } from './single-connection.js';
import { assertAlive, committed, execute, patiently, type SqliteConnection, setOwned } from './sqlite-connection.js';

/** Connections inside a transaction that may not write. */
const readOnly = new WeakSet<SqliteConnection>();

export function forbidWrites(connection: SqliteConnection): void {
  connection.pragma('query_only = ON');
  readOnly.add(connection);
}

/** Restores the connection's state from before the transaction. */
export function ended(connection: SqliteConnection): void {
  setOwned(connection, false);
  if (readOnly.delete(connection)) connection.pragma('query_only = OFF');
}

/**
 * Begins, commits and rolls back with its own cached statements: knex's implementation costs ten times what SQLite needs.
 * The write lock is taken at the start, as in the transactions of knex here.
 */
export async function sqliteTransaction<T>(
  client: Knex.Client,
  connections: SingleConnection<SqliteConnection>,
  work: TransactionWork<T>,
  facts: TransactionFacts,
): Promise<T> {
  const lent = connections.take();
  const connection = lent instanceof Promise ? await lent : lent;
  try {
    return (await new SqliteTransaction(client, connection, work as TransactionWork<unknown>, facts).over) as T;
  } finally {
    connections.release(connection);
  }
}

class SqliteTransaction implements OpenTransaction {
  readonly client: Knex.Client;
  readonly connection: SqliteConnection;
  readonly over: Promise<unknown>;
  readonly #facts: TransactionFacts;
  #completed = false;
  /** The result when the work itself committed it or rolled it back. */
  #outcome: (() => unknown) | undefined;

  constructor(
    client: Knex.Client,
    connection: SqliteConnection,
    work: TransactionWork<unknown>,
    facts: TransactionFacts,
  ) {
    this.client = client;
    this.connection = connection;
    this.#facts = facts;
    this.over = this.#run(work);
  }

  get completed(): boolean {
    return this.#completed;
  }

  onClient(client: Parameters<TransactionFacts['onClient']>[0]): void {
    this.#facts.onClient(client);
  }

  commit(value?: unknown): Promise<unknown> {
    return this.#byHand(
      () => this.#commit(),
      () => value,
    );
  }

  rollback(error?: unknown): Promise<unknown> {
    return this.#byHand(
      () => this.#rollBack(),
      () => {
        if (error !== undefined) throw error;
      },
    );
  }

  async #run(work: TransactionWork<unknown>): Promise<unknown> {
    try {
      const began = this.#begin();
      if (began instanceof Promise) await began;
      setOwned(this.connection, true);
      const value = await this.#settled(work);
      if (this.#outcome !== undefined) return this.#outcome();
      this.#commit();
      return value;
    } finally {
      this.#completed = true;
      ended(this.connection);
    }
  }

  async #settled(work: TransactionWork<unknown>): Promise<unknown> {
    try {
      return await work(knexOnDemand(this), this.connection);
    } catch (error) {
      if (this.#outcome !== undefined) return undefined;
      this.#rollBack();
      throw error;
    }
  }

  #begin(): unknown {
    const { connection } = this;
    if (this.#facts.readOnlySnapshot) forbidWrites(connection);
    const sql = this.#facts.readOnlySnapshot ? 'BEGIN' : 'BEGIN IMMEDIATE';
    return patiently(connection, () => execute(connection, sql, []));
  }

  #commit(): void {
    const { connection } = this;
    this.#completed = true;
    assertAlive(connection);
    try {
      execute(connection, 'COMMIT', []);
    } catch (error) {
      // It must not stay open for the next user of the connection.
      this.#rollBack();
      throw error;
    }
    committed(connection);
  }

  #rollBack(): void {
    this.#completed = true;
    // After some errors SQLite has already rolled back.
    if (this.connection.inTransaction) execute(this.connection, 'ROLLBACK', []);
  }

  async #byHand(end: () => void, outcome: () => unknown): Promise<unknown> {
    if (this.#completed) throw databaseError('transaction_over');
    this.#outcome = outcome;
    try {
      end();
    } catch (error) {
      this.#outcome = () => {
        throw error;
      };
      throw error;
    }
    return undefined;
  }
}
