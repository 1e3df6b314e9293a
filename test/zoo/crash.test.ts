import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import type { Finding, PluginRow } from '../../core/sdk/index.js';
import { ready, startZoo, type ZooServer } from './zoo-server.js';

const restartMessage = 'starting it again (';

interface Crash {
  readonly plugin: string;
  readonly does: string;
  readonly code: string;
  readonly message: RegExp;
}

const inBoot: readonly Crash[] = [
  { plugin: 'aborts', does: 'crashes in start()', code: 'boot_crash', message: /during its start / },
  { plugin: 'segfaults-later', does: 'crashes after an await', code: 'boot_crash', message: /during its start / },
  { plugin: 'aborts-on-import', does: 'crashes while it loads', code: 'boot_crash', message: /during its import / },
  { plugin: 'endless-loop', does: 'loops endlessly in start()', code: 'blocked_event_loop', message: /more than 2 s;/ },
];

const name = 'endless_pattern';
const endless = { text: `${'a'.repeat(60)}!` };

interface Entry {
  readonly plugin: string;
  readonly needs: readonly string[];
  /** Sends input that a schema of the plugin `endless-pattern` never finishes checking. */
  send(server: ZooServer): Promise<unknown>;
}

const checkingEntries: readonly Entry[] = [
  {
    plugin: 'mcp-server',
    needs: [],
    send: (server) =>
      server.ask('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: endless } }),
  },
  {
    plugin: 'agent',
    needs: ['logbook', 'sessions', 'conversation', 'models', 'channel-console', 'provider-demo'],
    send: (server) =>
      server.ask('POST', '/agent/process', {
        session_id: 's1',
        user_id: 'me',
        input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'go' }] }],
        biz_params: { tool: { name, input: endless } },
      }),
  },
  {
    plugin: 'realtime',
    needs: ['sessions', 'conversation'],
    send: ({ origin }) =>
      new Promise<void>((resolve) => {
        const socket = new WebSocket(`${origin.replace('http', 'ws')}/ws`);
        socket.addEventListener('open', () =>
          socket.send(JSON.stringify({ type: 'request', id: '1', method: 'endless.pattern', params: endless })),
        );
        socket.addEventListener('close', () => resolve());
      }),
  },
];

describe('a server that a plugin crashes', () => {
  let server: ZooServer;
  afterEach(() => server?.stop());

  for (const { plugin, does, code, message } of inBoot) {
    it(`restarts without the plugin that ${does}, and runs it again once it is fixed`, async () => {
      server = await startZoo({ plugins: ['healthy', plugin], env: { MORTISE_WATCHDOG_SECONDS: '2' } });
      await isQuarantined(plugin, code, message);
      await writeFile(
        join(server.pluginsDir, plugin, 'index.js'),
        `export default () => ({ key: '${plugin}', register() {} });\n`,
      );
      const released = await server.ask('POST', `/admin/plugins/${plugin}/release`, {});
      expect([released.status, released.body.state]).to.deep.equal([200, 'active']);
      expect(restarts()).to.equal(1);
    });
  }

  it('restarts without a plugin that crashes it when an admin enables it', async () => {
    server = await startZoo({ plugins: ['healthy', 'aborts'], enabled: ['healthy'] });
    await ready(server);
    const asked = await server.ask('POST', '/admin/plugins/aborts/enable', {}).catch(() => 'no answer');
    expect(asked).to.equal('no answer');
    await ready(server, 2);
    await isQuarantined('aborts', 'boot_crash', /during its start /);
    expect((await row('aborts')).desired).to.equal('enabled');
  });

  it('restarts without a plugin that loops endlessly in a call', async () => {
    const env = { MORTISE_WATCHDOG_SECONDS: '2' };
    server = await startZoo({ plugins: ['healthy', 'loops-in-call'], env });
    await ready(server);
    await until(async () => (await row('loops-in-call')).state === 'active');
    await server.ask('GET', '/loops-in-call').catch(() => undefined);
    await ready(server, 2);
    await isQuarantined('loops-in-call', 'blocked_event_loop', /more than 2 s;/);
  });

  it('restarts without a plugin that loops in microtasks', async () => {
    const env = { MORTISE_WATCHDOG_SECONDS: '2' };
    server = await startZoo({ plugins: ['healthy', 'loops-in-microtasks'], env });
    await ready(server);
    await until(async () => (await row('loops-in-microtasks')).state === 'active');
    await server.ask('GET', '/loops-in-microtasks').catch(() => undefined);
    await ready(server, 2);
    await isQuarantined('loops-in-microtasks', 'blocked_event_loop', /more than 2 s;/);
  });

  for (const { plugin, needs, send } of checkingEntries) {
    it(`restarts without a plugin whose schema check never ends, and with ${plugin}, which runs the check`, async () => {
      const env = { MORTISE_WATCHDOG_SECONDS: '2' };
      const plugins = ['healthy', 'endless-pattern'];
      server = await startZoo({ plugins, enabled: [...plugins, ...needs, plugin], env });
      await ready(server);
      const active = ['endless-pattern', plugin];
      await until(async () => (await Promise.all(active.map(row))).every(({ state }) => state === 'active'));
      await send(server).catch(() => undefined);
      await ready(server, 2);
      await isQuarantined('endless-pattern', 'blocked_event_loop', /more than 2 s;/);
      await until(async () => (await row(plugin)).state === 'active');
    });
  }

  it('stays up in safe mode when the crashes come after the boot and name no plugin, and explains how to leave it', async () => {
    server = await startZoo({ plugins: ['healthy', 'aborts-later'] });
    await ready(server, 3);
    await until(async () => (await row('aborts-later')).code === 'safe_mode');
    expect([(await row('healthy')).code, (await row('admin')).state]).to.deep.equal(['safe_mode', 'active']);
    const { body } = await server.ask('GET', '/admin/plugins/doctor');
    const found = (body as { findings: Finding[] }).findings.find(({ key, code }) => !key && code === 'safe_mode');
    expect(found?.fix).to.include('mortise plugin disable');
    expect(server.text()).to.match(/crashed twice in a row/);
    expect(restarts()).to.equal(2);
  });

  async function isQuarantined(plugin: string, code: string, message: RegExp): Promise<void> {
    await ready(server);
    await until(
      () => server.text().slice(-3_000),
      async () => (await row(plugin)).state === 'quarantined' && (await row('healthy')).state === 'active',
      40_000,
    );
    const found = await row(plugin);
    expect(found.code).to.equal(code);
    expect(found.message).to.match(message);
    expect(found.hint).to.include(`mortise plugin release ${plugin}`);
    const { status, body } = await server.ask('GET', '/healthy/echo?text=well');
    expect([status, body.text]).to.deep.equal([200, 'well']);
    expect(restarts()).to.equal(1);
  }

  function restarts(): number {
    return server.text().split(restartMessage).length - 1;
  }

  async function row(plugin: string): Promise<PluginRow> {
    const { body } = await server.ask('GET', '/admin/plugins');
    const found = (body as { plugins: PluginRow[] }).plugins.find((one) => one.key === plugin);
    if (!found) throw new Error(`There is no row of ${plugin}.`);
    return found;
  }
});
