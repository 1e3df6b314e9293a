import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, SqlValue, StatementResult, Transaction } from 'mortise/sdk';

type Work<T> = (trx: Transaction) => Promise<T>;

interface Waiting {
  readonly work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/** Transactions that may share a commit: more would keep other writers of the file waiting for no gain. */
const groupLimit = 32;

/**
 * Transactions of turns. SQLite has one writer and pays for every commit with a sync of the disk, so that writes which
 * wait for their turn are committed together: each in a savepoint of its own, none acknowledged before the commit.
 * On an idle store nothing waits and nothing is delayed. PostgreSQL commits side by side and groups by itself.
 */
export class GroupedWrites {
  readonly #database: Database;
  readonly #waiting: Waiting[] = [];
  // The group runs for all of its members, in the context of none: one of them may be inside of another transaction.
  readonly #detached = AsyncLocalStorage.snapshot();
  #running = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /** @throws MortiseError `nested_query` inside of an open transaction of the same call chain. */
  async run<T>(work: Work<T>): Promise<T> {
    if (this.#database.dialect !== 'sqlite') return this.#database.transaction(work);
    return this.#wait(work, (waiting) => this.#waiting.push(waiting));
  }

  /** One statement that must not be late: it goes before all that waits. */
  async urgent(sql: string, bindings: readonly SqlValue[]): Promise<StatementResult<object>> {
    if (this.#database.dialect !== 'sqlite') return this.#database.statement(sql, bindings);
    const work = (trx: Transaction) => this.#database.statement(sql, bindings, { trx });
    return this.#wait(work, (waiting) => this.#waiting.unshift(waiting));
  }

  #wait<T>(work: Work<T>, enqueue: (waiting: Waiting) => void): Promise<T> {
    // The group would wait for the transaction that its member is in: asking for the builder says so at once.
    this.#database.query();
    return new Promise<T>((resolve, reject) => {
      enqueue({ work, resolve: (value) => resolve(value as T), reject });
      if (!this.#running) void this.#detached(() => this.#drain());
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      await this.#commit(this.#waiting.splice(0, groupLimit));
      // Lets requests come in, and the driver free its statements, between two groups.
      if (this.#waiting.length > 0) await nextTurn();
    }
    this.#running = false;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    let outcomes: readonly Outcome[];
    try {
      outcomes = await this.#database.transaction(async (trx) => {
        const [only] = group;
        if (only && group.length === 1) return [{ ok: true, value: await only.work(trx) }];
        const settled: Outcome[] = [];
        for (const member of group) settled.push(await this.#savepoint(member, trx));
        return settled;
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok) resolve(outcome.value);
      else reject(outcome?.error);
    }
  }

  /** A member that fails undoes its own writes alone. When even that fails, the whole group does. */
  async #savepoint({ work }: Waiting, trx: Transaction): Promise<Outcome> {
    const say = (sql: string) => this.#database.statement(sql, [], { trx });
    await say('savepoint member');
    try {
      const value = await work(trx);
      await say('release member');
      return { ok: true, value };
    } catch (error) {
      await say('rollback to member');
      await say('release member');
      return { ok: false, error };
    }
  }
}
