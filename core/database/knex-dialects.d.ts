/** The parts of knex's dialect classes that ours build on; knex publishes the classes but not their types. */
declare module 'knex/lib/dialects/better-sqlite3/index.js' {
  import { Knex } from 'knex';

  class BetterSqliteClient extends Knex.Client {
    _query(connection: never, query: never): Promise<unknown>;
    _formatBindings(bindings: readonly unknown[] | undefined): unknown[];
  }
  export = BetterSqliteClient;
}

declare module 'knex/lib/dialects/sqlite3/execution/sqlite-transaction.js' {
  class SqliteTransaction {
    constructor(...facts: unknown[]);
    readonly readOnly: boolean | undefined;
    query(connection: unknown, sql: string): Promise<unknown>;
    begin(connection: never): Promise<unknown>;
  }
  export = SqliteTransaction;
}

declare module 'knex/lib/dialects/postgres/index.js' {
  import { Knex } from 'knex';

  class PostgresClient extends Knex.Client {
    _query(connection: never, query: never): Promise<unknown>;
  }
  export = PostgresClient;
}

declare module 'knex/lib/knex-builder/make-knex.js' {
  import { Knex } from 'knex';

  /** The object that executes the methods of a knex object. */
  interface Context {
    transaction: unknown;
    withUserParams: unknown;
    _transaction(run: unknown, config: object, outer: object): unknown;
  }

  function makeKnex(client: Knex.Client): Knex.Transaction & { readonly context: Context };
  export = makeKnex;
}
