import { AsyncLocalStorage } from 'node:async_hooks';
import type { Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import type { SqlValue, StatementResult, Transaction, TransactionOption } from '../sdk/host/database.js';
import { shortReason } from './connection-error.js';
import type { ClaimPlan, Connection, Engine } from './engine.js';
import { errorKind } from './error-kind.js';
import { databaseError } from './errors.js';

/** The transaction that the running call chain is inside of. */
interface Scope {
  readonly engine: Engine;
  readonly outer: Scope | undefined;
  open: boolean;
}

/** What is known of an open transaction or savepoint. */
interface Frame {
  readonly connection: Connection;
  readonly hooks: (() => void)[];
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

export interface TransactionOptions extends TransactionOption {
  readonly readOnlySnapshot?: boolean;
}

/** The one place where calls of a host meet a connection: their own, or that of the transaction they were handed. */
export class Session {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #onFull: () => void;
  readonly #frames = new WeakMap<Transaction, Frame>();

  /** `onFull` is called for each write that is refused for want of space. */
  constructor(engine: Engine, log: Logger, onFull: () => void = () => undefined) {
    this.#engine = engine;
    this.#log = log;
    this.#onFull = onFull;
  }

  query(trx: Transaction | undefined): Knex {
    if (trx !== undefined) return trx;
    this.assertOutside();
    return this.#engine.knex;
  }

  statement<Row extends object>(
    sql: string,
    bindings: readonly SqlValue[],
    trx: Transaction | undefined,
  ): Promise<StatementResult<Row>> {
    return this.#on(trx, (connection) => this.#engine.statement<Row>(connection, sql, bindings));
  }

  claim<Row extends object>(plan: ClaimPlan, trx: Transaction | undefined): Promise<Row[]> {
    return this.#on(trx, (connection) => this.#engine.claim<Row>(connection, plan));
  }

  async transaction<T>(run: (trx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { trx, readOnlySnapshot = false } = options;
    if (trx !== undefined) return this.#savepoint(run, trx);
    this.assertOutside();
    const scope: Scope = { engine: this.#engine, outer: scopes.getStore(), open: true };
    const hooks: (() => void)[] = [];
    const config = readOnlySnapshot ? ({ isolationLevel: 'repeatable read', readOnly: true } as const) : {};
    try {
      const result = await this.#engine.knex.transaction(
        (open) => scopes.run(scope, () => this.#framed(open, hooks, run)),
        config,
      );
      scope.open = false;
      for (const hook of hooks) this.#committed(hook);
      return result;
    } catch (error) {
      throw this.#seen(error);
    } finally {
      scope.open = false;
    }
  }

  afterCommit(trx: Transaction, run: () => void): void {
    const frame = this.#frames.get(trx);
    if (frame === undefined || trx.isCompleted()) throw databaseError('transaction_over');
    frame.hooks.push(run);
  }

  /**
   * With one connection, or with a pool that is used up, a call without the open transaction of its own chain would
   * wait for that transaction for ever.
   *
   * @throws MortiseError `nested_query`
   */
  assertOutside(): void {
    for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
      if (scope.open && scope.engine === this.#engine) throw databaseError('nested_query');
    }
  }

  /** Runs `run` as if no transaction were open: for work on its own connection or of its own time. */
  outside<T>(run: () => T): T {
    return scopes.run(undefined, run);
  }

  #seen(error: unknown): unknown {
    if (errorKind(error) === 'full') this.#onFull();
    return error;
  }

  /** What fails here fails after the commit: the caller's work is done all the same. */
  #committed(hook: () => void): void {
    try {
      hook();
    } catch (error) {
      this.#log.error({ reason: shortReason(error) }, 'Work after a commit failed');
    }
  }

  async #savepoint<T>(run: (trx: Transaction) => Promise<T>, outer: Transaction): Promise<T> {
    if (outer.isCompleted()) throw databaseError('transaction_over');
    const hooks: (() => void)[] = [];
    const result = await outer.transaction((open) => this.#framed(open, hooks, run));
    const frame = this.#frames.get(outer);
    if (frame !== undefined) frame.hooks.push(...hooks);
    return result;
  }

  async #framed<T>(trx: Transaction, hooks: (() => void)[], run: (trx: Transaction) => Promise<T>): Promise<T> {
    // knex calls the function even when BEGIN failed, with a transaction that is over; its own error is on the way.
    if (trx.isCompleted()) throw databaseError('transaction_over');
    const connection: Connection = await trx.client.acquireConnection();
    this.#frames.set(trx, { connection, hooks });
    return run(trx);
  }

  async #on<T>(trx: Transaction | undefined, run: (connection: Connection) => Promise<T>): Promise<T> {
    if (trx !== undefined) {
      if (trx.isCompleted()) throw databaseError('transaction_over');
      return run(this.#frames.get(trx)?.connection ?? (await trx.client.acquireConnection()));
    }
    this.assertOutside();
    const connection = await this.#engine.acquire();
    try {
      return await run(connection);
    } catch (error) {
      throw this.#seen(error);
    } finally {
      this.#engine.release(connection);
    }
  }
}
