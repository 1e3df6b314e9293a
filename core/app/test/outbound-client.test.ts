import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nodeFlags } from '../../sdk/testing/server-process.js';

const testing = new URL('../../sdk/testing/index.js', import.meta.url).href;

/** Boots a host whose plugin requests these services, and prints whether the client was loaded at the start. */
const script = (services: readonly string[]): string => `
  import { createRequire } from 'node:module';
  import { createTestHost } from ${JSON.stringify(testing)};
  const plugin = {
    manifest: { key: 'it', permissions: { services: ${JSON.stringify(services)} } },
    definition: { key: 'it', start: (host) => void ${JSON.stringify(services)}.map((name) => host.use(name)) },
  };
  const host = await createTestHost({ extra: [plugin], listen: false });
  const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((path) => /undici.lib.dispatcher.agent/.test(path));
  for (let turn = 0; turn < ${services.length > 0 ? 2_000 : 20} && !isLoaded(); turn += 1) await new Promise((done) => setTimeout(done, 5));
  console.log(isLoaded() ? 'loaded' : 'not loaded');
  await host.stop();
`;

async function outcome(services: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...nodeFlags,
    '--input-type=module',
    '--eval',
    script(services),
  ]);
  return stdout.trim();
}

describe('the client for outbound requests', () => {
  it('is loaded at the start only if a plugin requests it', async () => {
    expect(await Promise.all([outcome(['fetch']), outcome([])])).to.deep.equal(['loaded', 'not loaded']);
  });
});
