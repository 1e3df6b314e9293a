import { readFile, writeFile } from 'node:fs/promises';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from 'mortise/sdk/testing';
import type { PluginRow } from '../../core/sdk/index.js';
import { dropIn, fixtures, ready, startZoo, type ZooServer } from './zoo-server.js';

/** Node before 22.15 loads an imported module only once per process. */
const versionsReachImports = 'registerHooks' in nodeModule;

describe('a plugin dropped into a running server', () => {
  let server: ZooServer;
  let file: string;

  beforeEach(async () => {
    server = await startZoo({ plugins: ['healthy'] });
    await ready(server);
    await dropIn('echo', server.pluginsDir, fixtures);
    file = join(server.pluginsDir, 'echo', 'index.js');
  });

  afterEach(async () => {
    expect(server.listened(), 'starts of the process').to.equal(1);
    await server.stop();
  });

  const toggle = async (action: string): Promise<unknown> => {
    const { status, body } = await server.ask('POST', `/admin/plugins/echo/${action}`, {});
    return `${status} ${body.state ?? (body.error as { code?: string } | undefined)?.code ?? body.code}`;
  };
  const echo = (text: string, afterMs = 0) =>
    server.ask('GET', `/healthy/echo?tool=echo&text=${text}&afterMs=${afterMs}`);
  const row = async (): Promise<PluginRow | undefined> => {
    const { body } = await server.ask('GET', '/admin/plugins');
    return (body as { plugins: PluginRow[] }).plugins.find((one) => one.key === 'echo');
  };

  it('takes at most 15 lines', async () => {
    expect((await readFile(file, 'utf8')).trim().split('\n')).to.have.length.at.most(15);
  });

  it('is found, and runs and answers once it is enabled', async () => {
    await until(async () => (await row())?.state === 'disabled');
    expect((await echo('early')).status).to.equal(404);
    expect(await toggle('enable')).to.equal('200 active');
    expect((await echo('hello')).body).to.deep.equal({ text: 'hello' });
  });

  it('finishes the call in flight when it is disabled, and accepts no other', async () => {
    await toggle('enable');
    const slow = echo('patience', 1_500);
    await until(async () => {
      const { body } = await server.ask('GET', '/admin/plugins/echo');
      return (body.contributions as { in_flight: number }[]).some((one) => one.in_flight === 1);
    });
    const disabled = toggle('disable');
    await until(async () => (await row())?.state === 'draining');
    expect((await echo('late')).status).to.equal(404);
    expect((await slow).body).to.deep.equal({ text: 'patience' });
    expect(await disabled).to.equal('200 disabled');
  });

  it('loads fixed code, in its entry or in an imported file', async () => {
    const code = await readFile(file, 'utf8');
    const words = join(server.pluginsDir, 'echo', 'words.js');
    await writeFile(words, "export const before = 'v1 ';\n");
    const two = `import { before } from './words.js';\n${code}`.replace('{ text }, {', '{ text: before + text }, {');

    await writeFile(file, code.replace('});', '}'));
    expect(await toggle('enable')).to.equal('422 plugin_blocked');
    expect((await row())?.message).to.match(/\(index\.js:\d+\)/);
    await writeFile(file, two);
    expect(await toggle('restart')).to.equal('200 active');
    expect((await echo('x')).body).to.deep.equal({ text: 'v1 x' });

    await writeFile(words, "export const before = 'v2 ;\n");
    if (!versionsReachImports) {
      expect(await toggle('restart')).to.equal('200 active');
      expect((await echo('x')).body).to.deep.equal({ text: 'v1 x' });
      return;
    }
    expect(await toggle('restart')).to.equal('422 plugin_blocked');
    expect((await row())?.message).to.match(/\(words\.js:1\)/);
    await writeFile(words, "export const before = 'v2 ';\n");
    expect(await toggle('restart')).to.equal('200 active');
    expect((await echo('x')).body).to.deep.equal({ text: 'v2 x' });
  });
});
