import PostgresDialect from 'knex/lib/dialects/postgres/index.js';
import { storableText } from './codec.js';
import { connectionError, databaseError, statementError } from './errors.js';
import type { AnsweringConnection } from './silence.js';

/** The used part of a `pg` client. */
export interface PostgresConnection extends AnsweringConnection {
  query(query: { readonly name?: string; readonly text: string; readonly values: readonly unknown[] }): Promise<{
    readonly command: string;
    readonly rowCount: number | null;
    readonly rows: object[];
  }>;
  setTypeParser(oid: number, parse: (text: string) => unknown): void;
  /** The underlying socket. */
  readonly connection: AnsweringConnection['connection'] & { readonly stream: { cork(): void; uncork(): void } };
}

interface PostgresQuery {
  readonly sql: string;
  bindings?: readonly unknown[];
  readonly response?: { readonly command: string };
}

/** knex's PostgreSQL dialect with coded connection errors, detection of failed commits, and errors without row data. */
export class PostgresClient extends PostgresDialect {
  override async acquireConnection(): Promise<PostgresConnection> {
    if (this.pool === undefined) throw databaseError('database_closed');
    try {
      return await super.acquireConnection();
    } catch (error) {
      throw connectionError(error);
    }
  }

  override async query(connection: PostgresConnection, query: unknown): Promise<unknown> {
    try {
      return await super.query(connection, query);
    } catch (error) {
      throw statementError(error);
    }
  }

  override async _query(connection: never, query: PostgresQuery): Promise<unknown> {
    if (query.bindings !== undefined) query.bindings = query.bindings.map(storableBinding);
    let answer: PostgresQuery;
    try {
      answer = (await super._query(connection, query as never)) as PostgresQuery;
    } catch (error) {
      throw withoutRowData(error);
    }
    // After an error inside the transaction the server answers COMMIT with ROLLBACK, and with no error.
    if (/^commit\b/i.test(query.sql) && answer.response?.command === 'ROLLBACK') {
      throw databaseError('transaction_aborted');
    }
    return answer;
  }
}

/** Text without NUL, which PostgreSQL cannot store. */
export function storableBinding(value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : value;
}

/** The server quotes values of the row in these members, and logs print every member of an error. */
export function withoutRowData(error: unknown): unknown {
  if (error instanceof Error) {
    for (const member of ['detail', 'where', 'internalQuery', 'hint']) Reflect.deleteProperty(error, member);
  }
  return error;
}
