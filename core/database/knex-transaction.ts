import type { Knex } from 'knex';
import makeKnex from 'knex/lib/knex-builder/make-knex.js';
import type { Transaction } from '../sdk/host/database.js';
import type { Connection, QueryClient } from './engine.js';
import { databaseError } from './errors.js';

/** What the knex object needs of its transaction. */
export interface OpenTransaction {
  /** That of the whole database. */
  readonly client: Knex.Client;
  readonly connection: Connection;
  readonly completed: boolean;
  /** The result of the whole. */
  readonly over: Promise<unknown>;
  /** Called with the client of the knex object before anything is sent through it. */
  onClient(client: QueryClient): void;
  commit(value?: unknown): Promise<unknown>;
  rollback(error?: unknown): Promise<unknown>;
}

/**
 * The knex object of a transaction, made on first use: making one costs several times what the statements
 * of a transaction do, and nearly all transactions only pass it on.
 */
export function knexOnDemand(open: OpenTransaction): Transaction {
  return new Proxy(notYet, new KnexOnDemand(open)) as unknown as Transaction;
}

const notYet = (): void => undefined;

class KnexOnDemand implements ProxyHandler<typeof notYet> {
  readonly #open: OpenTransaction;
  #made: Transaction | undefined;

  constructor(open: OpenTransaction) {
    this.#open = open;
  }

  apply(_target: unknown, _self: unknown, facts: unknown[]): unknown {
    return Reflect.apply(this.#knex() as unknown as () => unknown, undefined, facts);
  }

  get(_target: unknown, key: string | symbol): unknown {
    const open = this.#open;
    if (key === 'isCompleted') return () => open.completed;
    if (key === 'executionPromise') return open.over;
    // Read from every value that a promise resolves to.
    if (key === 'then') return undefined;
    return Reflect.get(this.#knex(), key);
  }

  set(_target: unknown, key: string | symbol, value: unknown): boolean {
    return Reflect.set(this.#knex(), key, value);
  }

  has(_target: unknown, key: string | symbol): boolean {
    return Reflect.has(this.#knex(), key);
  }

  #knex(): Transaction {
    this.#made ??= makeTransaction(this.#open);
    return this.#made;
  }
}

/** As knex builds it for its own transactions; knex does not export that code. */
function makeTransaction(open: OpenTransaction): Transaction {
  const client = clientOf(open);
  const trx = makeKnex(client);
  const outer = { transactor: trx, isCompleted: () => open.completed, _lastChild: Promise.resolve() };
  const savepoint = (run: unknown, options?: object): unknown =>
    trx.context._transaction(run, { doNotRejectOnRollback: true, ...options }, outer);
  trx.context.transaction = savepoint;
  trx.context.withUserParams = () => {
    throw new Error('A transaction has the user parameters of its database.');
  };
  return Object.assign(trx, {
    isTransaction: true,
    savepoint,
    isCompleted: outer.isCompleted,
    commit: (value?: unknown) => open.commit(value),
    rollback: (error?: unknown) => open.rollback(error),
  });
}

/** A client that always uses the connection of the transaction. */
function clientOf(open: OpenTransaction): Knex.Client {
  const { version, config, driver, connectionSettings, valueForUndefined, logger } = open.client;
  const client: Knex.Client = Object.assign(Object.create(Object.getPrototypeOf(open.client)), {
    ...{ version, config, driver, connectionSettings, valueForUndefined, logger },
    transacting: true,
    acquireConnection: async () => open.connection,
    releaseConnection: async () => undefined,
  });
  for (const event of ['start', 'query', 'query-error', 'query-response']) {
    client.on(event, (...facts: unknown[]) => open.client.emit(event, ...facts));
  }
  const send: QueryClient['query'] = client.query;
  client.query = async (connection: Connection, query: unknown) => {
    if (open.completed) throw databaseError('transaction_over');
    return send.call(client, connection, query);
  };
  open.onClient(client);
  return client;
}
