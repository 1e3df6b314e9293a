import { AsyncLocalStorage } from 'node:async_hooks';
import type { Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import type { SqlValue, StatementResult, Transaction, TransactionOption } from '../sdk/host/database.js';
import type { ClaimPlan, Connection, Engine, ExpandedStatement, QueryClient } from './engine.js';
import { databaseError, errorKind, shortReason } from './errors.js';
import type { HeldTransaction } from './held-transaction.js';
import { hostSchema } from './names.js';
import { OpenTransactions } from './open-transactions.js';

/** The open transaction of the current call chain. */
interface Scope {
  readonly engine: Engine;
  readonly outer: Scope | undefined;
  open: boolean;
}

/** The state of an open transaction or savepoint. */
interface Frame {
  readonly connection: Connection;
  readonly hooks: (() => void)[];
  readonly held: HeldTransaction;
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

interface TransactionOptions extends TransactionOption {
  /** The plugin that owns it; the host when absent. */
  readonly plugin?: string;
  readonly readOnlySnapshot?: boolean;
}

/** Assigns a connection to each database call: a free one, or that of the given transaction. */
export class Session {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #onFull: () => void;
  readonly #open: OpenTransactions;
  readonly #frames = new WeakMap<Transaction, Frame>();

  /** `onFull` is called for each write that is refused for lack of space. */
  constructor(
    engine: Engine,
    log: Logger,
    onFull: () => void = () => undefined,
    open: OpenTransactions = new OpenTransactions(log),
  ) {
    this.#engine = engine;
    this.#log = log;
    this.#onFull = onFull;
    this.#open = open;
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

  batch(statements: readonly ExpandedStatement[], trx: Transaction): Promise<readonly StatementResult<object>[]> {
    return this.#on(trx, (connection) => this.#engine.batch(connection, statements));
  }

  claim<Row extends object>(plan: ClaimPlan, trx: Transaction | undefined): Promise<Row[]> {
    return this.#on(trx, (connection) => this.#engine.claim<Row>(connection, plan));
  }

  async transaction<T>(run: (trx: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { trx, readOnlySnapshot = false, plugin = hostSchema } = options;
    if (trx !== undefined) return this.#savepoint(run, trx);
    this.assertOutside();
    const scope: Scope = { engine: this.#engine, outer: scopes.getStore(), open: true };
    const hooks: (() => void)[] = [];
    const held = this.#open.open(plugin);
    try {
      const result = await this.#engine.transaction(
        (open, connection) =>
          scopes.run(scope, () => held.work(() => this.#framed(open, { connection, hooks, held }, run))),
        { readOnlySnapshot, onClient: (client) => noteQueries(client, held) },
      );
      scope.open = false;
      for (const hook of hooks) this.#committed(hook);
      return result;
    } catch (error) {
      throw this.#seen(error);
    } finally {
      scope.open = false;
      this.#open.close(held);
    }
  }

  afterCommit(trx: Transaction, run: () => void): void {
    const frame = this.#frames.get(trx);
    if (frame === undefined || trx.isCompleted()) throw this.#over(trx);
    frame.hooks.push(run);
  }

  /**
   * With one connection, or with an exhausted pool, a call without the open transaction of its own chain would
   * wait for that transaction forever.
   *
   * @throws MortiseError `nested_query`
   */
  assertOutside(): void {
    for (let scope = scopes.getStore(); scope !== undefined; scope = scope.outer) {
      if (scope.open && scope.engine === this.#engine) throw databaseError('nested_query');
    }
  }

  /** Runs `run` as if no transaction were open: for work on its own connection or in the background. */
  outside<T>(run: () => T): T {
    return scopes.run(undefined, run);
  }

  #seen(error: unknown): unknown {
    if (errorKind(error) === 'full') this.#onFull();
    return error;
  }

  /** A failure here is after the commit: the caller's work is stored. */
  #committed(hook: () => void): void {
    try {
      hook();
    } catch (error) {
      this.#log.error({ reason: shortReason(error) }, 'Work after a commit failed');
    }
  }

  async #savepoint<T>(run: (trx: Transaction) => Promise<T>, outer: Transaction): Promise<T> {
    const frame = this.#frames.get(outer);
    if (outer.isCompleted() || frame === undefined) throw this.#over(outer);
    const hooks: (() => void)[] = [];
    const { connection, held } = frame;
    const result = await outer.transaction((open) => {
      // knex calls the function even when the savepoint failed; its own error is on the way.
      if (open.isCompleted()) throw databaseError('transaction_over');
      noteQueries(open.client, held);
      return this.#framed(open, { connection, hooks, held }, run);
    });
    frame.hooks.push(...hooks);
    return result;
  }

  #framed<T>(trx: Transaction, frame: Frame, run: (trx: Transaction) => Promise<T>): Promise<T> {
    this.#frames.set(trx, frame);
    return run(trx);
  }

  #over(trx: Transaction): Error {
    return this.#frames.get(trx)?.held.reason ?? databaseError('transaction_over');
  }

  async #on<T>(trx: Transaction | undefined, run: (connection: Connection) => T | Promise<T>): Promise<T> {
    if (trx !== undefined) {
      if (trx.isCompleted()) throw this.#over(trx);
      const frame = this.#frames.get(trx);
      if (frame === undefined) return run(await trx.client.acquireConnection());
      return frame.held.during(() => run(frame.connection));
    }
    this.assertOutside();
    const acquired = this.#engine.acquire();
    const connection = acquired instanceof Promise ? await acquired : acquired;
    try {
      const result = run(connection);
      return result instanceof Promise ? await result : result;
    } catch (error) {
      throw this.#seen(error);
    } finally {
      this.#engine.release(connection);
    }
  }
}

/** Statements of knex itself are tracked as well; those that end a transaction are always allowed. */
function noteQueries(client: QueryClient, held: HeldTransaction): void {
  const send = client.query;
  client.query = async (connection, query) => {
    const sent = (): Promise<unknown> => send.call(client, connection, query);
    const ends = typeof query === 'string' && /^(rollback|commit|release)\b/i.test(query);
    return ends ? held.noted(sent) : held.during(sent);
  };
}
