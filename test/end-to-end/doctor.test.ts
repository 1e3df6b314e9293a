import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database, Finding } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { type DatabaseHost, openDatabase } from '../../core/database/index.js';
import { watchRawResources } from '../../core/process/raw-resources.js';
import { silentLog } from '../../core/sdk/testing/silent-log.js';
import type { Desired } from '../../core/settings/types.js';

interface Fault {
  readonly name: string;
  readonly code: string;
  readonly fix: RegExp;
  readonly message?: RegExp;
  make(host: TestHost): Promise<unknown>;
  repair(host: TestHost): Promise<unknown>;
}

/** Code of a plugin that does nothing. */
const idle = (key: string, members = ''): string =>
  `export default () => ({ key: '${key}', register() {}, ${members} });`;

async function dropIn(host: TestHost, key: string, code: string, manifest: object | string = {}): Promise<void> {
  const folder = join(host.pluginsDir, key);
  await mkdir(folder, { recursive: true });
  const facts = {
    manifestVersion: 1,
    key,
    version: '1.0.0',
    title: key,
    summary: 'Made by a test.',
    entry: 'index.js',
  };
  const text = typeof manifest === 'string' ? manifest : JSON.stringify({ ...facts, ...manifest });
  await writeFile(join(folder, 'index.js'), code);
  await writeFile(join(folder, 'plugin.json'), text);
}

/** Ignores the error, which the doctor reports. */
const enable = (host: TestHost, key: string): Promise<unknown> => host.control.enable(key).catch(() => undefined);

async function remove(host: TestHost, key: string): Promise<void> {
  await host.control.disable(key).catch(() => undefined);
  await rm(join(host.pluginsDir, key), { recursive: true, force: true });
}

/** A dropped-in plugin with one fault, repaired by replacing its files. */
function broken(
  code: string,
  fix: RegExp,
  wrong: { readonly code?: string; readonly manifest?: object | string },
  key = `has-${code.replaceAll('_', '-')}`,
): Fault {
  return {
    name: `a plugin with ${code}`,
    code,
    fix,
    make: async (host) => {
      await dropIn(host, key, wrong.code ?? idle(key), wrong.manifest);
      await enable(host, key);
    },
    repair: async (host) => {
      await dropIn(host, key, idle(key));
      await host.control.release(key).catch(() => undefined);
      await enable(host, key);
      await until(() => host.control.list().some((row) => row.key === key && row.state === 'active'));
      await remove(host, key);
    },
  };
}

const config = (host: TestHost, key: string, values: object): Promise<void> =>
  writeFile(join(host.configDir, `${key}.json`), JSON.stringify(values));

/** Changes the desired plugins, as an edit of plugins.json does. */
const want = (host: TestHost, change: (plugins: Desired['plugins']) => Desired['plugins']): Promise<void> =>
  host.app.kernel.serial(async () => {
    const { desired } = host.app.kernel.deps;
    await desired.write((current) => ({ ...current, plugins: change(current.plugins) }));
    await host.app.kernel.reconcile();
  });

const faults: readonly Fault[] = [
  broken('manifest_not_json', /Fix the JSON/, { manifest: '{"manifestVersion": 1,' }),
  broken('manifest_invalid', /schemas\/plugin\.schema\.json/, { manifest: { version: 'one' } }),
  broken('engine_mismatch', /Install a version of the plugin/, { manifest: { engines: { node: '>=99' } } }),
  broken('host_service_unknown', /Use one of/, { manifest: { permissions: { services: ['databse'] } } }),
  broken('point_unknown', /use one of/, { manifest: { contributes: { toll: ['one'] } } }),
  broken('mount_unknown', /Declare it in "mounts"/, {
    manifest: {
      permissions: { routes: [{ name: 'one', kind: 'http', method: 'GET', path: '/one', auth: 'key', mount: 'none' }] },
    },
  }),
  broken('route_reserved', /another path/, {
    manifest: {
      permissions: { routes: [{ name: 'one', kind: 'http', method: 'GET', path: '/ready', auth: 'public' }] },
    },
  }),
  broken('dependency_missing', /Install "nowhere"/, { manifest: { requires: ['nowhere'] } }),
  broken('entry_missing', /Build the plugin/, { manifest: { entry: 'dist/index.js' } }),
  broken('import_failed', /mortise plugin restart/, { code: 'export default () => ({' }),
  {
    ...broken('import_failed', /mortise plugin restart/, {}, 'has-commonjs'),
    name: 'a plugin that Node reads as CommonJS',
    make: async (host) => {
      await dropIn(host, 'has-commonjs', idle('has-commonjs'));
      await writeFile(join(host.pluginsDir, 'has-commonjs', 'package.json'), '{"type": "commonjs"}');
      await enable(host, 'has-commonjs');
      const { message } = await host.control.inspect('has-commonjs');
      expect(message).to.match(/reads the file as CommonJS: name the entry \.mjs/);
    },
    repair: async (host) => {
      await dropIn(host, 'has-commonjs', '', { entry: 'index.mjs' });
      await writeFile(join(host.pluginsDir, 'has-commonjs', 'index.mjs'), idle('has-commonjs'));
      await host.control.restart('has-commonjs');
      await remove(host, 'has-commonjs');
    },
  },
  broken('register_async', /start\(host\)/, {
    code: `export default () => ({ key: 'has-register-async', async register() {} });`,
  }),
  broken('start_failed', /mortise plugin restart/, {
    code: idle('has-start-failed', `start() { throw new Error('no'); }`),
  }),
  broken('contribution_missing', /plugin\.json/, { manifest: { contributes: { tool: ['promised'] } } }),
  {
    name: 'an enabled plugin that is not installed',
    code: 'plugin_missing',
    fix: /remove the entry from plugins\.json/,
    make: (host) => want(host, (plugins) => ({ ...plugins, gone: { enabled: true } })),
    repair: (host) => want(host, ({ gone: _, ...others }) => others),
  },
  {
    name: 'a plugin whose folder was removed while it runs',
    code: 'folder_removed',
    fix: /Put the folder back/,
    make: async (host) => {
      await dropIn(host, 'uprooted', idle('uprooted'));
      await host.control.enable('uprooted');
      await rename(join(host.pluginsDir, 'uprooted'), join(host.dataDir, 'uprooted'));
    },
    repair: async (host) => {
      await rename(join(host.dataDir, 'uprooted'), join(host.pluginsDir, 'uprooted'));
    },
  },
  {
    name: 'a workflow node that nothing calls',
    code: 'contribution_uncalled',
    fix: /mortise plugin disable lonely-node/,
    make: async (host) => {
      const node = `{ summary: 'Waits.', paramsSchema: { type: 'object' }, run: async () => ({}) }`;
      await dropIn(
        host,
        'lonely-node',
        `export default () => ({ key: 'lonely-node', register(host) { host.contribute('cron-node', 'lonely', ${node}); } });`,
        { contributes: { 'cron-node': ['lonely'] } },
      );
      await host.control.enable('lonely-node');
    },
    repair: (host) => host.control.disable('lonely-node'),
  },
  {
    name: '3,000 timers that a plugin left behind',
    code: 'left_behind',
    fix: /host\.every\(\)/,
    make: async (host) => {
      watchRawResources();
      const start = `start() { globalThis.leaked = Array.from({ length: 3_000 }, () => setInterval(() => undefined, 60_000).unref()); }`;
      await dropIn(host, 'leaks', idle('leaks', start));
      await host.control.enable('leaks');
      await host.control.disable('leaks');
    },
    repair: async () => {
      for (const timer of (globalThis as unknown as { leaked: NodeJS.Timeout[] }).leaked) clearInterval(timer);
    },
  },
  {
    name: 'the plugin of the memory backend, which is disabled',
    code: 'unhealthy',
    fix: /MORTISE_MEMORY_BACKEND/,
    make: (host) => host.control.disable('memory-backend-local'),
    repair: (host) => host.control.enable('memory-backend-local'),
  },
  {
    name: 'memories that wait for a disabled outbox',
    code: 'unhealthy',
    fix: /mortise plugin enable memory-outbox/,
    make: async (host) => {
      await host.control.disable('memory-outbox');
      await host.control.disable('memory-backend-local');
      const stored = await host.post('/memory/store', { payload_md: 'An owl waits.', target_space: 'private:me' });
      expect(await stored.json()).to.include({ outbox_status: 'pending' });
      await host.control.enable('memory-backend-local');
    },
    repair: async (host) => {
      await host.control.enable('memory-outbox');
    },
  },
  {
    name: 'an outbox that is blocked by an invalid setting',
    code: 'invalid_config',
    fix: /config\/memory-outbox\.json/,
    make: async (host) => {
      await config(host, 'memory-outbox', { batch_size: 0 });
      await host.control.restart('memory-outbox').catch(() => undefined);
    },
    repair: async (host) => {
      await config(host, 'memory-outbox', { batch_size: 50 });
      await until(() => host.control.list().some(({ key, state }) => key === 'memory-outbox' && state === 'active'));
    },
  },
  {
    name: 'a configuration that names a missing secret',
    code: 'invalid_config',
    message: /\/password names the secret NAME_OF_THE_ABSENT_ONE, which is neither a variable nor in secrets\.json/,
    fix: /config\/locked\.json/,
    make: async (host) => {
      await dropIn(host, 'locked', idle('locked'), { config: 'config.schema.json' });
      const schema = { type: 'object', properties: { password: { type: 'string', 'x-secret': true } } };
      await writeFile(join(host.pluginsDir, 'locked', 'config.schema.json'), JSON.stringify(schema));
      await config(host, 'locked', { password: { $secret: 'NAME_OF_THE_ABSENT_ONE' } });
      await enable(host, 'locked');
    },
    repair: (host) => remove(host, 'locked'),
  },
  {
    name: 'a secrets file that cannot be read as JSON',
    code: 'invalid_secrets_file',
    fix: /Write {/,
    make: (host) => writeFile(join(host.configDir, 'secrets.json'), '{', { mode: 0o600 }),
    repair: (host) => rm(join(host.configDir, 'secrets.json')),
  },
  {
    name: 'a plugins.json that is not JSON',
    code: 'plugins_file_invalid',
    fix: /Correct/,
    make: async (host) => {
      await copyFile(host.pluginsFile, `${host.pluginsFile}.good`);
      await writeFile(host.pluginsFile, '{');
    },
    repair: (host) => rename(`${host.pluginsFile}.good`, host.pluginsFile),
  },
  {
    name: 'a database file that was moved away',
    code: 'database_file_missing',
    fix: /Put it back/,
    make: (host) => rename(host.app.database.target, `${host.app.database.target}.moved`),
    repair: (host) => rename(`${host.app.database.target}.moved`, host.app.database.target),
  },
];

/** Faults of a database server, caused by statements of its administrator. */
const serverFaults = (administrator: () => Database): readonly Fault[] => {
  /** Renaming the schemas away looks like a new database; renaming them back, like a restored one. */
  const renameSchemas = async (like: string, renamed: (name: string) => string): Promise<void> => {
    const { statement } = administrator();
    const { rows } = await statement<{ name: string }>(
      `select nspname as name from pg_namespace where nspname like ? and nspname <> 'information_schema'
        and nspname not like 'pg%' and nspname <> 'public'`,
      [like],
    );
    for (const { name } of rows) await statement(`alter schema ${name} rename to ${renamed(name)}`);
  };
  return [
    {
      name: 'a database that was recreated',
      code: 'database_emptied',
      message: /was created anew or emptied/,
      fix: /Restore it from a backup/,
      make: () => renameSchemas('%', (name) => `kept_${name}`),
      repair: () => renameSchemas('kept%', (name) => name.replace('kept_', '')),
    },
    {
      name: 'a table that was dropped',
      code: 'database_tables_missing',
      message: /: logbook\.memories\. /,
      fix: /Restore them from a backup/,
      make: () => administrator().statement('alter table logbook.memories rename to kept_memories'),
      repair: () => administrator().statement('alter table logbook.kept_memories rename to memories'),
    },
  ];
};

describe('the doctor', () => {
  const checks = (host: () => TestHost, all: readonly Fault[]): void => {
    /** Undefined while the plugins restart. */
    const found = async (): Promise<readonly Finding[] | undefined> => {
      const response = await host().fetch('/admin/plugins/doctor');
      return response.ok ? ((await response.json()) as { findings: readonly Finding[] }).findings : undefined;
    };
    for (const { name, code, fix, message = /./, make, repair } of all) {
      it(`has one finding with its fix for ${name}, and none after the repair`, async () => {
        // Plugins that restart after the previous repair may be reported briefly.
        const none = async () => (await found())?.length === 0;
        await until('no finding', none);
        await make(host());
        await until(`${code} alone`, async () => (await found())?.map((one) => one.code).join() === code);
        const [finding] = (await found()) ?? [];
        expect(finding?.fix).to.match(fix);
        expect(finding?.message).to.match(message);
        expect(finding?.message.length).to.be.below(600);
        await repair(host());
        await until('no finding after the repair', none);
      });
    }
  };

  eachDatabase(
    (engine) => {
      let host: TestHost;
      let other: DatabaseHost | undefined;
      before(async () => {
        host = await createTestHost({
          database: engine.env,
          plugins: ['admin', 'memory-gateway', 'memory-backend-local', 'memory-outbox'],
        });
        // Without storage checks, which would report the fault here too.
        if (engine.dialect === 'postgres')
          other = await openDatabase(engine.settings, silentLog, { storageLookMs: 3_600_000 });
      });
      after(async () => {
        await other?.close();
        await host.stop();
      });
      const administrator = (): Database => {
        if (other === undefined) throw new Error('The administrator connects in a hook.');
        return other.forPlugin('probe', []);
      };
      checks(() => host, engine.dialect === 'sqlite' ? faults : serverFaults(administrator));
    },
    { keepRows: true },
  );
});
