import type { ChannelsService } from 'mortise/contracts/channels';
import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
import {
  activeByKey,
  type CallContext,
  type Channel,
  callOptions,
  createContributionCache,
  type Database,
  isCodedError,
  isJsonObject,
  isUnstorableJson,
  type JsonObject,
  lockTable,
  openStoredSnapshot,
  type SchemasService,
  type SecretsService,
  type StartHost,
  type Transaction,
} from 'mortise/sdk';
import { channelError, storing } from './errors.js';
import { mapLeaves, maskSecrets, pathKey, unmaskSecrets } from './secret-members.js';

interface StoreDeps {
  readonly host: Pick<StartHost, 'own' | 'every' | 'log' | 'points'>;
  readonly database: Database;
  readonly secrets: SecretsService;
  readonly schemas: SchemasService;
  readonly audit: AuditService;
}

/** A change of channels for the audit trail, without values. */
interface ChannelChange {
  readonly operation: 'replace' | 'set' | 'reveal';
  readonly names: readonly string[];
}

/** The service, with operations for this plugin's own routes and commands. */
export interface ChannelStore extends ChannelsService {
  /** As {@link ChannelsService.parse}, for one channel. */
  parseOne(name: string, body: unknown, ctx: CallContext): Promise<JsonObject>;
  replace(name: string, config: JsonObject, ctx: CallContext): Promise<void>;
  audit(change: ChannelChange, ctx: CallContext, trx?: Transaction): Promise<void>;
}

interface ChannelRow {
  readonly name: string;
  readonly config_json: unknown;
  readonly secrets_enc: string | null;
}

const notified = 'channels';

export async function openChannels({ host, database, secrets, schemas, audit }: StoreDeps): Promise<ChannelStore> {
  const active = createContributionCache(host.points, 'channel', activeByKey);
  const snapshot = await openStoredSnapshot(host, {
    database,
    channel: notified,
    read: () => readChannels(database, secrets, host.log),
  });
  const table = (trx: Transaction) => database.query({ trx })(database.table('agent.channels'));
  const schemaOf = (name: string) => active.current.get(name)?.facts.configSchema;

  const config = (name: string): JsonObject | undefined => {
    const channel = active.current.get(name);
    return channel && { ...channel.facts.defaults, ...snapshot.current.get(name) };
  };

  const parseOne = async (
    name: string,
    body: unknown,
    ctx: CallContext,
    otherMasks: 'keep' | 'empty' = 'keep',
  ): Promise<JsonObject> => {
    const channel = active.current.get(name);
    if (!channel) {
      throw channelError('channel_not_supported', {
        message: `channel "${name.slice(0, 64)}" is not supported`,
        details: { channels: [...active.current.keys()].sort() },
      });
    }
    if (!isJsonObject(body)) throw channelError('invalid_json');
    if (isUnstorableJson(JSON.stringify(body))) {
      throw channelError('invalid_json', { message: 'texts must not have NUL characters or lone surrogates' });
    }
    const { configSchema, defaults } = channel.facts;
    mapLeaves(body, configSchema, ({ path, value, isSecret }) => {
      if (!isSecret || value === null || typeof value === 'string') return;
      throw channelError('invalid_channel_config', { message: `${path.join('.')} must be a string` });
    });
    const parsed = unmaskSecrets(body, config(name) ?? {}, { schema: configSchema, otherMasks });
    const [issue] = configSchema
      ? schemas.compile(configSchema, { name: `channel ${name}` }).check({ ...defaults, ...parsed })
      : [];
    if (issue) {
      throw channelError('invalid_channel_config', {
        message: `the configuration of channel ${name} is invalid at ${issue.path || '/'}: ${issue.message}`,
        details: { channel: name, path: issue.path },
      });
    }
    const check = (channel: Channel, call: CallContext) => channel.checkConfig?.({ ...defaults, ...parsed }, call);
    const problem = await host.points.call('channel', name, check, callOptions(ctx));
    if (problem !== undefined) {
      throw channelError('invalid_channel_config', { message: problem, details: { channel: name } });
    }
    return parsed;
  };

  const writeAudit = async (
    { operation, names }: ChannelChange,
    ctx: CallContext,
    trx?: Transaction,
  ): Promise<void> => {
    const evidence = { names: names.slice(0, 100), count: names.length };
    await audit.write(changeEntry(`channels:${operation}`, ctx, { evidence }), trx ? { trx } : {});
  };

  const save = async (name: string, value: JsonObject, trx: Transaction): Promise<void> => {
    const sealed: Record<string, string> = {};
    const shown = mapLeaves(value, schemaOf(name), ({ path, value: leaf, isSecret }) => {
      if (!isSecret || typeof leaf !== 'string' || leaf === '') return leaf;
      sealed[pathKey(path)] = secrets.seal(leaf, placeOf(name, pathKey(path)));
      return '';
    });
    const row = {
      config_json: database.codec.json(shown),
      secrets_enc: Object.keys(sealed).length === 0 ? null : JSON.stringify(sealed),
      updated_at: database.codec.time(Date.now()),
    };
    await table(trx)
      .insert({ name, ...row })
      .onConflict('name')
      .merge(row);
  };

  const change = (
    audited: ChannelChange,
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
    types: () => [...active.current.keys()].sort(),
    config,
    masked(name) {
      const found = config(name);
      return found && maskSecrets(found, schemaOf(name));
    },
    parseOne,
    async parse(body, ctx, { otherMasks } = { otherMasks: 'keep' }) {
      if (!isJsonObject(body)) throw channelError('invalid_json');
      const parsed = new Map<string, JsonObject>();
      for (const [key, value] of Object.entries(body)) {
        const name = key.toLowerCase();
        if (parsed.has(name)) {
          throw channelError('invalid_channel_config', { message: `the channel ${name} is given twice` });
        }
        parsed.set(name, await parseOne(name, value, ctx, otherMasks));
      }
      return parsed;
    },
    replace: (name, value, ctx) => change({ operation: 'set', names: [name] }, ctx, (trx) => save(name, value, trx)),
    replaceAll: (configs, ctx, options) =>
      change(
        { operation: 'replace', names: [...configs.keys()] },
        ctx,
        async (trx) => {
          // Rows of channels whose plugin is disabled are kept, because the API did not return them.
          await lockTable(database, 'agent.channels', trx);
          const gone = [...active.current.keys()].filter((name) => !configs.has(name));
          await table(trx).whereIn('name', gone).delete();
          for (const [name, config] of configs) await save(name, config, trx);
        },
        options?.trx,
      ),
    audit: writeAudit,
    refresh: () => storing(() => snapshot.refresh()),
    onChange: (run) => snapshot.onRead(() => run()),
  };
}

async function readChannels(
  database: Database,
  secrets: SecretsService,
  log: StartHost['log'],
): Promise<ReadonlyMap<string, JsonObject>> {
  const rows: ChannelRow[] = await database
    .query()(database.table('agent.channels'))
    .select('name', 'config_json', 'secrets_enc');
  return new Map(
    rows.map(({ name, config_json, secrets_enc }) => {
      const opened = unsealAll(name, secrets_enc, secrets, log);
      const stored = database.codec.parseJson<JsonObject>(config_json);
      return [name, mapLeaves(stored, undefined, ({ path, value }) => opened.get(pathKey(path)) ?? value)];
    }),
  );
}

/** The secrets of a channel by path. A secret that cannot be decrypted counts as empty, so that everything else works. */
function unsealAll(
  name: string,
  stored: string | null,
  secrets: SecretsService,
  log: StartHost['log'],
): ReadonlyMap<string, string> {
  const sealed = Object.entries(stored === null ? {} : (JSON.parse(stored) as Record<string, string>));
  return new Map(
    sealed.flatMap(([path, text]): [string, string][] => {
      try {
        return [[path, secrets.unseal(text, placeOf(name, path))]];
      } catch (error) {
        if (!isCodedError(error)) throw error;
        log.error({ code: error.code, channel: name, path }, error.message);
        return [];
      }
    }),
  );
}

function placeOf(name: string, path: string): string {
  return `channel ${name} ${path}`;
}
