import { randomUUID } from 'node:crypto';
import knex, { type Knex } from 'knex';
import type { Logger } from '../sdk/context.js';
import type { SqlValue, StatementResult } from '../sdk/host/database.js';
import { codec } from './codec.js';
import {
  type ClaimPlan,
  type Connection,
  checkBindings,
  type Engine,
  poolReading,
  statementCompiler,
} from './engine.js';
import { databaseError, knexLog, shortReason, statementError } from './errors.js';
import { PostgresClient, type PostgresConnection, storableBinding, withoutRowData } from './postgres-client.js';
import { type PostgresSettings, publicTarget } from './settings.js';
import { type AskServer, SilenceWatch } from './silence.js';

/** Limits of one session: a hanging call must not hold a connection or a row forever. */
export function connectionSettings({ connection, connectTimeoutMs }: PostgresSettings) {
  return {
    ...(typeof connection === 'string' ? { connectionString: connection } : connection),
    application_name: 'mortise',
    connectionTimeoutMillis: connectTimeoutMs ?? 2_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: 30_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
    options: '-c timezone=UTC',
  };
}

/** SQLSTATE: five characters, sent by a server that is running. */
const saidByServer = /^[0-9A-Z]{5}$/;

/** Queries the state of the server's processes on a separate connection. It must connect and answer in time. */
function askPostgres(settings: ReturnType<typeof connectionSettings>, timeoutMs: number, log: Logger): AskServer {
  return async () => {
    const { Client } = (await import('pg')).default;
    const client = new Client({ ...settings, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
    // Errors after its answer do not matter.
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number; state: string | null }>(
        'select pid, state from pg_stat_activity where usename = current_user',
      );
      return new Map(rows.map(({ pid, state }) => [pid, state]));
    } catch (error) {
      // It refuses because it has no free connections or is starting: it is not silent.
      if (error instanceof Error && 'code' in error && saidByServer.test(String(error.code))) return new Map();
      log.debug({ reason: shortReason(error) }, 'The database does not answer on a new connection either');
      return undefined;
    } finally {
      client.end().catch(() => {});
    }
  };
}

/** Types whose text form differs from what SQLite returns: each is read into the same value here. */
const parsers: readonly (readonly [oid: number, parse: (text: string) => unknown])[] = [
  [20, Number], // bigint, and count()
  [1700, Number], // numeric, and sum() of bigint
  [114, String], // json: text, read by the codec
  [3802, String], // jsonb
  [1184, codec.parseTime], // timestamp with time zone
  [1114, codec.parseTime], // timestamp
  [1082, String], // date
];

/** Named statements per process; every connection prepares those it runs. */
const statementLimit = 500;

/** PostgreSQL: a pool that opens connections when they are needed and drops dead ones. */
export function postgresEngine(settings: PostgresSettings, log: Logger): Engine {
  // Statements may be sent before the previous one was answered: see `batch`.
  const session = connectionSettings(settings);
  const connection = { ...session, pipeline: true };
  const answerMs = settings.answerTimeoutMs ?? 5_000;
  const silence = new SilenceWatch(answerMs, askPostgres(session, answerMs, log), log);
  const builder = knex({
    client: PostgresClient,
    connection,
    compileSqlOnError: false,
    acquireConnectionTimeout: settings.acquireTimeoutMs ?? 10_000,
    log: knexLog(log),
    pool: {
      min: 0,
      max: settings.poolMax ?? 10,
      idleTimeoutMillis: 30_000,
      afterCreate(connection: PostgresConnection, done: (error: unknown, connection: PostgresConnection) => void) {
        for (const [oid, parse] of parsers) connection.setTypeParser(oid, parse);
        silence.watch(connection);
        done(null, connection);
      },
    },
  });
  const client: Knex.Client = builder.client;
  const compile = statementCompiler((position) => `$${position}`);
  const names = new Map<string, string>();

  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= statementLimit) return known;
    const name = `mortise_${names.size + 1}`;
    names.set(text, name);
    return name;
  };

  const statement = async <Row extends object>(
    connection: PostgresConnection,
    sql: string,
    bindings: readonly SqlValue[],
  ): Promise<StatementResult<Row>> => {
    const compiled = compile(sql);
    checkBindings(compiled, bindings);
    const values = bindings.map(storableBinding);
    const send = async (): Promise<StatementResult<Row>> => {
      const name = nameOf(compiled.text);
      const answer = await connection.query({ ...(name && { name }), text: compiled.text, values });
      return { rows: answer.rows as Row[], changes: answer.rowCount ?? 0 };
    };
    try {
      return await send();
    } catch (error) {
      if (!isStalePlan(error)) throw statementError(withoutRowData(error));
      // A migration of another process changed the table: prepare again. Inside a transaction this fails too, and the
      // first error has the cause.
      names.set(compiled.text, `mortise_${names.size + 1}_${randomUUID()}`);
      return send().catch(() => {
        throw error;
      });
    }
  };

  return {
    dialect: 'postgres',
    knex: builder,
    now: {
      millis: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
      // Truncated, never rounded up: a time written as "now" is in the past for the next reader.
      time: `date_trunc('milliseconds', statement_timestamp())`,
    },
    target: publicTarget(settings),
    acquire: () => client.acquireConnection(),
    release: (connection) => void client.releaseConnection(connection),
    statement,
    async batch(connection: PostgresConnection, statements) {
      const { stream } = connection.connection;
      stream.cork();
      const answers = statements.map(({ sql, bindings }) => statement<object>(connection, sql, bindings));
      stream.uncork();
      // Waits for all of them even when one fails: none may run after the end of its transaction.
      const settled = await Promise.allSettled(answers);
      return settled.map((one) => {
        if (one.status === 'rejected') throw one.reason;
        return one.value;
      });
    },
    claim: async <Row extends object>(connection: PostgresConnection, plan: ClaimPlan): Promise<Row[]> => {
      const { rows } = await statement<{ 'claimed at': number }>(connection, claimStatement(plan), [
        ...plan.whereBindings,
        ...plan.setBindings,
      ]);
      rows.sort((a, b) => a['claimed at'] - b['claimed at']);
      return rows.map(({ 'claimed at': _, ...columns }) => columns as Row);
    },
    transaction: (work, { readOnlySnapshot, onClient }) =>
      builder.transaction(
        async (trx) => {
          // knex calls the function even when BEGIN failed, with a transaction that is over; its own error is on the way.
          if (trx.isCompleted()) throw databaseError('transaction_over');
          const connection: Connection = await trx.client.acquireConnection();
          onClient(trx.client);
          return work(trx, connection);
        },
        readOnlySnapshot ? { isolationLevel: 'repeatable read', readOnly: true } : {},
      ),
    pool: () => poolReading(client),
    async close() {
      await builder.destroy();
      silence.dispose();
    },
  };
}

/** Locks rows that are not locked, numbers them in their order, and changes them: one statement. */
function claimStatement(plan: ClaimPlan): string {
  return `with picked as materialized (
      select ${plan.key} as "claimed key" from ${plan.table} where ${plan.where}
      order by ${plan.orderBy} limit ${plan.limit} for update skip locked
    ), placed as (select "claimed key", row_number() over () as "claimed at" from picked)
    update ${plan.table} as claimed set ${plan.set} from placed where claimed.${plan.key} = placed."claimed key"
    returning claimed.*, placed."claimed at"`;
}

function isStalePlan(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '0A000' && /cached plan/.test(error.message);
}
