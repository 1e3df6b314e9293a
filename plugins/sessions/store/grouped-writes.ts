import { createGroupCommit, type Database, type GroupOutcome, type SqlValue, type Transaction } from 'mortise/sdk';

type Work<T> = (trx: Transaction) => Promise<T>;

/** Transactions that may share a commit: more would keep other writers of the file waiting for no gain. */
const groupLimit = 32;

/**
 * Transactions of turns. SQLite has one writer and pays for every commit with a sync of the disk, so waiting writes are
 * committed together: each in a savepoint of its own, none acknowledged before the commit. On an idle store nothing
 * waits and nothing is delayed. PostgreSQL commits side by side and groups by itself.
 */
export class GroupedWrites {
  readonly #database: Database;
  readonly #group = createGroupCommit<Work<unknown>, unknown>((works) => this.#commit(works), {
    largest: groupLimit,
    gather: false,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws MortiseError `nested_query` inside of an open transaction of the same call chain. */
  async run<T>(work: Work<T>): Promise<T> {
    if (this.#database.dialect !== 'sqlite') return this.#database.transaction(work);
    // The group would wait for the transaction that its member is in; asking for the builder throws at once.
    this.#database.query();
    return this.#group.submit(work) as Promise<T>;
  }

  /** One statement that must not be late: it goes before all that waits. */
  async urgent(sql: string, bindings: readonly SqlValue[]): ReturnType<Database['statement']> {
    if (this.#database.dialect !== 'sqlite') return this.#database.statement(sql, bindings);
    this.#database.query();
    const work = (trx: Transaction) => this.#database.statement(sql, bindings, { trx });
    return this.#group.submit(work, 'first') as ReturnType<Database['statement']>;
  }

  #commit(works: readonly Work<unknown>[]): Promise<readonly GroupOutcome<unknown>[]> {
    return this.#database.transaction(async (trx) => {
      const [only] = works;
      if (only && works.length === 1) return [{ value: await only(trx) }];
      const outcomes: GroupOutcome<unknown>[] = [];
      for (const work of works) outcomes.push(await this.#savepoint(work, trx));
      return outcomes;
    });
  }

  /** A member that fails undoes only its own writes. When even that fails, the whole group does. */
  async #savepoint(work: Work<unknown>, trx: Transaction): Promise<GroupOutcome<unknown>> {
    const execute = (sql: string) => this.#database.statement(sql, [], { trx });
    await execute('savepoint member');
    try {
      const value = await work(trx);
      await execute('release member');
      return { value };
    } catch (error) {
      await execute('rollback to member');
      await execute('release member');
      return { error };
    }
  }
}
