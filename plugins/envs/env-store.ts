import { type EnvsService, maskCredential, unmaskCredential } from 'mortise/contracts/envs';
import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
import {
  type CallContext,
  type Database,
  isCodedError,
  isJsonObject,
  isSensitiveName,
  isUnstorableText,
  lockTable,
  openStoredSnapshot,
  type SecretsService,
  type StartHost,
  type Transaction,
} from 'mortise/sdk';
import { envError, storing } from './errors.js';

interface StoreDeps {
  readonly host: Pick<StartHost, 'own' | 'every' | 'log'>;
  readonly database: Database;
  readonly secrets: SecretsService;
  readonly audit: AuditService;
}

/** What a change of some variables is for the audit trail; values are never part of it. */
interface EnvChange {
  readonly operation: 'replace' | 'delete' | 'reveal';
  readonly keys: readonly string[];
}

/** The service, with operations for this plugin's own routes. */
export interface EnvStore extends EnvsService {
  /** @returns whether there was such a variable */
  delete(key: string, ctx: CallContext): Promise<boolean>;
  audit(change: EnvChange, ctx: CallContext, trx?: Transaction): Promise<void>;
}

const channel = 'envs';
const maxKeyLength = 255;
const validKey = /^[^=\s\p{Cc}\p{Cs}]+$/u;
/** Variables of the process that a stored one must not replace. */
const reserved = /^(?:PATH|HOME|MORTISE_.*|NEXTAI_.*)$/i;

export async function openEnvs({ host, database, secrets, audit }: StoreDeps): Promise<EnvStore> {
  const snapshot = await openStoredSnapshot(host, {
    database,
    channel,
    read: () => readEnvs(database, secrets, host.log),
  });
  const table = (trx: Transaction) => database.query({ trx })(database.table('agent.envs'));

  const writeAudit = async ({ operation, keys }: EnvChange, ctx: CallContext, trx?: Transaction): Promise<void> => {
    const evidence = { keys: keys.slice(0, 100), count: keys.length };
    await audit.write(changeEntry(`envs:${operation}`, ctx, { evidence }), trx ? { trx } : {});
  };
  const change = (
    audited: EnvChange,
    ctx: CallContext,
    write: (trx: Transaction) => Promise<unknown>,
    outer?: Transaction,
  ): Promise<void> => {
    const run = async (trx: Transaction): Promise<void> => {
      await write(trx);
      await writeAudit(audited, ctx, trx);
    };
    return storing(() => snapshot.change(audited.operation, run, outer));
  };

  return {
    get: (key) => snapshot.current.get(key),
    all: () => snapshot.current,
    exported: () => Object.fromEntries([...snapshot.current].filter(([key]) => !reserved.test(key))),
    masked: () =>
      Object.fromEntries(
        [...snapshot.current].map(([key, value]) => [key, isSensitiveName(key) ? maskCredential(value) : value]),
      ),
    parse: (body) => readBody(body, snapshot.current),
    replaceAll: (values, ctx, options) =>
      change(
        { operation: 'replace', keys: [...values.keys()] },
        ctx,
        async (trx) => {
          await lockTable(database, 'agent.envs', trx);
          await table(trx).delete();
          const rows = [...values].map(([key, value]) => ({ key, value_enc: secrets.seal(value, placeOf(key)) }));
          for (let at = 0; at < rows.length; at += 100) await table(trx).insert(rows.slice(at, at + 100));
        },
        options?.trx,
      ),
    async delete(key, ctx) {
      if (!snapshot.current.has(key)) return false;
      await change({ operation: 'delete', keys: [key] }, ctx, (trx) => table(trx).where({ key }).delete());
      return true;
    },
    audit: writeAudit,
    refresh: () => storing(() => snapshot.refresh()),
    onChange: (run) => snapshot.onRead(() => run()),
  };
}

async function readEnvs(
  database: Database,
  secrets: SecretsService,
  log: StartHost['log'],
): Promise<ReadonlyMap<string, string>> {
  const rows: { key: string; value_enc: string }[] = await database
    .query()(database.table('agent.envs'))
    .select('key', 'value_enc');
  const values = rows.flatMap(({ key, value_enc }): [string, string][] => {
    try {
      return [[key, secrets.unseal(value_enc, placeOf(key))]];
    } catch (error) {
      if (!isCodedError(error)) throw error;
      // The other variables must keep working.
      log.error({ code: error.code, key }, error.message);
      return [];
    }
  });
  return new Map(values.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function readBody(body: unknown, stored: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (!isJsonObject(body)) throw envError('invalid_json');
  return new Map(
    Object.entries(body).map(([key, value]) => {
      if (key.length > maxKeyLength || !validKey.test(key))
        throw envError('invalid_env_key', { details: { key: key.slice(0, maxKeyLength) } });
      if (typeof value !== 'string') throw envError('invalid_json', { message: `the value of ${key} must be a text` });
      if (isUnstorableText(value))
        throw envError('invalid_json', { message: `the value of ${key} has characters that no variable can have` });
      return [key, isSensitiveName(key) ? unmaskCredential(value, stored.get(key)) : value];
    }),
  );
}

function placeOf(key: string): string {
  return `env ${key}`;
}
