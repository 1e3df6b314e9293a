import { text as readAll } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { ConfigChange, PluginDetail, PluginRow } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';
import { isJsonObject } from '../sdk/json.js';
import { changeAndRecord } from './change-and-record.js';
import { type CommandEnvironment, printAnswer } from './environment.js';
import { CommandError, examples, LocalError, table } from './output.js';

/** `mortise config`, `config set` and `config unset`. */
export function addConfigCommands(program: Command, environment: CommandEnvironment): void {
  const config = program
    .command('config [owner]')
    .description('show every effective value and its origin; secrets are masked')
    .addHelpText(
      'after',
      examples(
        'mortise config',
        'mortise config host --json',
        'mortise config mcp-server',
        'mortise config set memory-outbox.worker false',
      ),
    )
    .action(async (owner: string | undefined) => {
      const values = await readValues(environment, owner);
      if (owner !== undefined && values.length === 0) await assertOwner(environment, owner);
      const rows = values.map((value) => [
        value.name,
        JSON.stringify(value.value) ?? '',
        value.origin ? `${value.source} ${value.origin}` : value.source,
      ]);
      // Without a terminal there is no width, and the output is not truncated.
      await printAnswer(environment, table(['NAME', 'VALUE', 'FROM'], rows, environment.process.stdout.columns), {
        values,
      });
    });

  config
    .command('set <name> [value]')
    .description('write a value to the configuration of a plugin; it is checked first')
    .option('--stdin', 'read the value from standard input, so that a secret is not in the shell history')
    .addHelpText(
      'after',
      examples(
        'mortise config set gate.dedup.enabled false',
        'mortise config set provider-openai.models \'{"gpt-4o-mini": {}}\'',
        'mortise config set provider-openai.api_key --stdin < key.txt',
      ),
    )
    .action(async (name: string, value: string | undefined, { stdin = false }: { readonly stdin?: boolean }) => {
      if ((value === undefined) !== stdin) {
        throw new CommandError('Pass a value or --stdin.', 'Usage: mortise config set <name> <value>');
      }
      await change(environment, name, value ?? (await readAll(environment.process.stdin)).replace(/\r?\n$/, ''));
    });

  config
    .command('unset <name>')
    .description('remove a value from the configuration of a plugin, so that its default applies')
    .addHelpText('after', examples('mortise config unset gate.dedup.enabled'))
    .action((name: string) => change(environment, name, null));
}

async function readValues(
  environment: CommandEnvironment,
  owner: string | undefined,
): Promise<readonly EffectiveValue[]> {
  const server = await environment.server();
  if (!server) return (await import('../app/offline.js')).readConfig(environment.source, owner);
  const query = owner ? `?owner=${encodeURIComponent(owner)}` : '';
  return (await server.request<{ values: readonly EffectiveValue[] }>('GET', `/admin/config${query}`)).values;
}

/** An empty list is only valid for a plugin without configuration. */
async function assertOwner(environment: CommandEnvironment, owner: string): Promise<void> {
  const plugins = await environment.either(
    async (server) => (await server.request<{ plugins: readonly PluginRow[] }>('GET', '/admin/plugins')).plugins,
    (engine) => engine.control.list(),
  );
  const known = plugins.map(({ key }) => key).toSorted();
  if (known.includes(owner)) return;
  throw new LocalError('owner_not_found', `"${owner}" has no configuration: it is neither "host" nor a plugin.`, {
    details: { owner, known: ['host', ...known] },
    hint: `There are: ${['host', ...known].join(', ')}.`,
  });
}

/** Whether a name is listed or declared by the schema. An invalid file may contain others. */
function isKnown(
  { config, config_schema, config_valid }: PluginDetail,
  name: string,
  path: readonly string[],
): boolean {
  const isShown = config.some((value) => value.name === name || name.startsWith(`${value.name}.`));
  const described = schemaAt(config_schema, path);
  return isShown || !config_valid || (described !== undefined && described !== false);
}

async function change(environment: CommandEnvironment, name: string, given: string | null): Promise<void> {
  const [owner = '', ...path] = name.split('.');
  if (owner === 'host') {
    throw new CommandError(
      'Settings of the host are read only at the start and cannot be changed with this command.',
      'Edit config/mortise.json, or set the variable listed in config/README.md, and restart.',
    );
  }
  if (path.length === 0 || path.includes('')) {
    throw new CommandError(
      `"${name}" is not the name of a setting.`,
      'mortise config shows the names: <plugin>.<property>.',
    );
  }
  const detail = await environment.either<PluginDetail>(
    (server) => server.request('GET', `/admin/plugins/${encodeURIComponent(owner)}`),
    ({ control }) => control.inspect(owner),
  );
  if (given === null && !isKnown(detail, name, path)) {
    throw new CommandError(`${owner} has no setting "${path.join('.')}".`, `mortise config ${owner} shows the names.`);
  }
  const value = given === null ? null : readTyped(given, schemaAt(detail.config_schema, path));
  const patch = path.reduceRight<unknown>((inner, member) => ({ [member]: inner }), value) as Record<string, unknown>;
  const { applied } = await changeAndRecord<Pick<ConfigChange, 'applied'>>(environment, 'configure', owner, {
    online: (server) => server.request('PATCH', `/admin/plugins/${encodeURIComponent(owner)}/config`, patch),
    offline: async (engine) => {
      await engine.patchConfig(owner, patch);
      return { applied: 'next start' };
    },
  });
  const inForce = (await readValues(environment, owner)).find((one) => one.name === name);
  const overriding = inForce?.source === 'environment' ? inForce.origin : null;
  const removed = applied === 'unchanged' && overriding === null ? 'not set' : 'removed';
  const done = `${name} is ${given === null ? removed : 'set'}`;
  const how = {
    live: 'it is in effect',
    restarted: `${owner} was restarted with it`,
    unchanged: `${owner} keeps running unchanged`,
    'next start': `a start of ${owner} reads it`,
  };
  const note = overriding === null ? how[applied] : `the variable ${overriding} overrides it`;
  const data = { name, applied, overridden_by: overriding, value: inForce?.value ?? null };
  await printAnswer(environment, `${done}: ${note}.`, data);
}

/** The schema of a member, if it is declared. */
function schemaAt(schema: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => {
    if (!isJsonObject(inner)) return undefined;
    const properties = isJsonObject(inner.properties) ? inner.properties : {};
    return properties[name] ?? inner.additionalProperties;
  }, schema);
}

/** Reads a typed value: as text if the schema allows only text, otherwise as JSON if it is valid JSON. */
function readTyped(given: string, schema: unknown): unknown {
  if (isJsonObject(schema) && schema.type === 'string') return given;
  try {
    return JSON.parse(given) as unknown;
  } catch {
    return given;
  }
}
