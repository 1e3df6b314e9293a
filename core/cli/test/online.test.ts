import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Finding, PluginControl, PluginDetail, PluginPlan, PluginRow } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin, until } from 'mortise/sdk/testing';
import { onServer, runCli } from './run-cli.js';

/** A plugin that does nothing. */
const quiet = (
  key: string,
  requires: readonly string[] = [],
  manifest: Partial<TestPlugin['manifest']> = {},
): TestPlugin => ({
  manifest: { key, requires, ...manifest },
  definition: { key, register() {} },
});

describe('the command line with a server', () => {
  let host: TestHost;
  const cli = (...args: readonly string[]) => onServer(host, ...args);
  const stateOf = (key: string) => host.control.list().find((row) => row.key === key)?.state;

  before(async () => {
    host = await createTestHost({
      plugins: ['admin', 'logbook'],
      extra: [
        quiet('base'),
        quiet('upper', ['base']),
        {
          ...quiet('picky', [], { config: 'inline' }),
          configSchema: { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } },
        },
      ],
      required: ['admin'],
    });
  });
  after(() => host.stop());

  it('lists every plugin with its state, and why it is not active', async () => {
    const { code, stdout } = await cli('plugin', 'list');
    expect(code).to.equal(0);
    expect(stdout).to.match(/^PLUGIN +TITLE +VERSION +DESIRED +STATE/);
    expect(stdout).to.match(/^admin +Admin API +\d+\.\d+\.\d+ +enabled +active +yes/m);
    expect(stdout).to.match(/^picky +picky +\S+ +enabled +blocked .*size/m);
  });

  it('prints the answer of the API with --json', async () => {
    const { plugins } = (await cli('plugin', 'list', '--json')).json<{ plugins: PluginRow[] }>();
    expect(plugins.map(({ key }) => key)).to.include.members(['admin', 'base', 'upper', 'picky']);
    const detail = (await cli('--json', 'plugin', 'inspect', 'upper')).json<PluginDetail>();
    expect(detail).to.deep.include({ key: 'upper', state: 'active', requires: ['base'] });
  });

  it('shows one plugin in full', async () => {
    const { stdout } = await cli('plugin', 'inspect', 'base');
    expect(stdout).to.contain('needed by    upper').and.to.contain('load times');
  });

  it('refuses to disable a plugin that others need, and names the command that disables all', async () => {
    const { code, stderr } = await cli('plugin', 'disable', 'base');
    expect(code).to.equal(1);
    expect(stderr)
      .to.match(/^\[plugin_has_dependants\] .*upper/)
      .and.to.contain('mortise plugin disable base --cascade');
    expect(stateOf('base')).to.equal('active');
  });

  it('does not disable required plugins, and names the plugins that require them', async () => {
    const { code, stderr } = await cli('plugin', 'disable', 'admin');
    expect(code).to.equal(1);
    expect(stderr)
      .to.match(/^\[plugin_required\] .*"admin"/)
      .and.to.contain('plugins.json');
    expect(stateOf('admin')).to.equal('active');
  });

  it('plans a change without applying it', async () => {
    const { json } = await cli('plugin', 'disable', 'base', '--cascade', '--dry-run', '--json');
    expect(json<PluginPlan>().stops).to.have.members(['base', 'upper']);
    const { code, stdout } = await cli('plugin', 'plan', '-upper');
    expect([code, stdout]).to.deep.equal([
      0,
      `starts:  -\nstops:   upper\ndrains:  -\nblocked: picky: ${picky(host)}\nopens:   -\n`,
    ]);
    expect(stateOf('upper')).to.equal('active');
  });

  it('disables a plugin with its dependants, and enables it again', async () => {
    expect((await cli('plugin', 'disable', 'base', '--cascade')).stdout).to.equal('base is disabled.\n');
    expect([stateOf('base'), stateOf('upper')]).to.deep.equal(['disabled', 'disabled']);
    const blocked = await cli('plugin', 'enable', 'upper', '--json');
    expect([blocked.code, blocked.error().code]).to.deep.equal([1, 'plugin_blocked']);
    expect(blocked.error().hint).to.equal('mortise plugin enable base');
  });

  it('finds problems, exits with 1, and enables missing dependencies', async () => {
    const found = await cli('plugin', 'doctor', 'upper', '--json');
    expect(found.code).to.equal(1);
    expect(found.json<{ findings: Finding[] }>().findings[0]).to.include({ key: 'upper', code: 'dependency_disabled' });
    const fixed = await cli('plugin', 'doctor', 'upper', '--fix');
    expect([fixed.code, fixed.stdout]).to.deep.equal([0, 'fixed: base is enabled\n']);
    expect([stateOf('base'), stateOf('upper')]).to.deep.equal(['active', 'active']);
  });

  it('does not fix problems that need an operator', async () => {
    const { code, stdout } = await cli('plugin', 'doctor', 'picky', '--fix');
    expect(code).to.equal(1);
    expect(stdout).to.match(/^error: picky: .*size/);
  });

  it('restarts and releases', async () => {
    const before = host.control.list().find(({ key }) => key === 'upper')?.since;
    expect((await cli('plugin', 'restart', 'upper')).stdout).to.equal('upper is active.\n');
    expect(host.control.list().find(({ key }) => key === 'upper')?.since).not.to.equal(before);
    expect((await cli('plugin', 'release', 'upper')).stdout).to.equal('upper is active.\n');
  });

  it('shows the load tree', async () => {
    const { tree } = (await cli('plugin', 'tree', '--json')).json<{ tree: ReturnType<PluginControl['tree']> }>();
    expect(tree.find(({ key }) => key === 'upper')?.requires.map(({ key }) => key)).to.deep.equal(['base']);
    expect((await cli('plugin', 'tree')).stdout).to.match(/^upper \(active\) import .*\n {2}base \(active\)/m);
  });

  it('prints every effective value and its origin', async () => {
    const { stdout } = await cli('config', 'host');
    expect(stdout).to.match(/^host\.http\.port +0 +environment MORTISE_PORT$/m);
    const refused = await cli('config', 'nope');
    expect([refused.code, refused.stdout, refused.stderr.includes('There are: host, ')]).to.deep.equal([1, '', true]);
  });

  it('reports whether the server is ready, and which plugins it waits for', async () => {
    expect((await cli('status')).stdout).to.match(/^Mortise \S+ is ready\.\n$/);
    const text = await readFile(host.pluginsFile, 'utf8');
    const { plugins, ...rest } = JSON.parse(text) as { plugins: Record<string, object> };
    const without = { ...plugins, admin: { enabled: false, required: true } };
    await writeFile(host.pluginsFile, JSON.stringify({ ...rest, plugins: without }));
    await until('admin is off', () => stateOf('admin') === 'disabled');
    const { code, stdout } = await cli('status');
    expect(code).to.equal(1);
    expect(stdout).to.match(/not ready yet\.\n {2}admin is disabled/);
    // Without the admin API, the command edits the file, which the server watches.
    const files = { MORTISE_PLUGINS_FILE: host.pluginsFile, MORTISE_CONFIG_DIR: host.configDir };
    const enabled = await runCli(['--api-base', host.origin, 'plugin', 'enable', 'admin'], files);
    expect(enabled.code, enabled.stderr).to.equal(0);
    await until('admin is on', () => stateOf('admin') === 'active');
  });

  it('does not mention the file if the file is the state', async () => {
    expect((await cli('plugin', 'export', '--json')).json()).to.include({ changed: false });
  });

  it('answers an unknown plugin with the command that lists them', async () => {
    const { code, stderr } = await cli('plugin', 'inspect', 'no-such-plugin');
    expect(code).to.equal(1);
    expect(stderr).to.equal(
      '[plugin_not_found] There is no plugin "no-such-plugin".\n  mortise plugin list shows all keys.\n',
    );
  });
});

const picky = (host: TestHost): string => host.control.list().find(({ key }) => key === 'picky')?.message ?? '';
