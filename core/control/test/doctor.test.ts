import { expect } from 'chai';
import { type MadeKernel, type MadePlugin, makeKernel, plugin } from '../../kernel/test/kernel-fixture.js';
import type { ManifestRoute } from '../../sdk/manifest.js';
import { until } from '../../sdk/testing/until.js';

function withRoutes(key: string, ...paths: readonly string[]): MadePlugin {
  const routes = paths.map((path, index): ManifestRoute => ({ name: `r${index}`, kind: 'http', path, auth: 'public' }));
  return { manifest: { key, permissions: { routes } }, definition: () => ({ key, register: () => undefined }) };
}

describe('the doctor', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  async function idle(...plugins: readonly MadePlugin[]): Promise<readonly string[]> {
    made = makeKernel(
      plugins,
      plugins.map(({ manifest }) => manifest.key),
    );
    await made.kernel.boot();
    const found = (await made.control.doctor()).filter(({ code }) => code === 'route_idle');
    return found.map(({ key, message }) => `${key}: ${message}`);
  }

  it('reports a catch-all route without requests, and the plugin with routes at its paths', async () => {
    const found = await idle(
      withRoutes('desk', '/desk/drawers/:id', '/desk'),
      withRoutes('greedy', '/desk/*rest', '/*rest', '/desk/extra/*rest', '/own/*rest', '/des/*rest'),
    );
    expect(found).to.deep.equal([
      'greedy: /desk/*rest of greedy answers nothing: "desk" has routes there, and other paths there are answered with 404.',
    ]);
  });

  it('accepts a catch-all route beside paths of its own plugin', async () => {
    expect(await idle(withRoutes('desk', '/desk/*rest', '/desk/drawers/:id'))).to.deep.equal([]);
  });

  it('reports a contribution of the manifest that the code does not add, once the plugin has started', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const forgetful = plugin({ key: 'forgetful', contributes: { tool: ['lost'] } }, { start: () => promise });
    made = makeKernel([forgetful], ['forgetful']);
    const booted = made.kernel.boot();
    await until(() => made.state('forgetful') === 'starting');
    expect(await made.control.doctor()).to.deep.equal([]);
    resolve();
    await booted;
    expect((await made.control.doctor()).map(({ code }) => code)).to.deep.equal(['contribution_missing']);
  });
});
