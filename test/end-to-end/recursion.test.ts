import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ServerProcess, startServer, temporaryFolder } from 'mortise/sdk/testing';

/** A plugin whose tools call themselves or each other, return immediately, or measure the heap after a full collection. */
const code = (key: string, other: string) => `
import { setImmediate as tick } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
let deepest = 0;

export default () => ({
  key: '${key}',
  start(host) {
    const inputSchema = { type: 'object' };
    const tool = (name, run) =>
      host.contribute('tool', '${key}_' + name, { summary: name, audience: ['mcp'], inputSchema, run });
    const call = (name, args, ctx) =>
      host.points.call('tool', name, (it, inner) => it.run(args, { ...inner, caller: 'mcp' }), ctx);
    tool('deep', async ({ left, depth = 1 }, ctx) => {
      deepest = Math.max(deepest, depth);
      return left === 0 ? { depth } : call('${key}_deep', { left: left - 1, depth: depth + 1 }, ctx);
    });
    tool('pair', async ({ left, depth = 1 }, ctx) => {
      deepest = Math.max(deepest, depth);
      return left === 0 ? { depth } : call('${other}_pair', { left: left - 1, depth: depth + 1 }, ctx);
    });
    tool('endless', async (_, ctx) => {
      await tick();
      return call('${other}_endless', {}, ctx);
    });
    tool('alone', async (_, ctx) => {
      await tick();
      return call('${key}_alone', {}, ctx);
    });
    tool('answer', async () => ({ ok: true }));
    tool('heap', async () => {
      collect();
      return { megabytes: process.memoryUsage().heapUsed / 2 ** 20, deepest };
    });
  },
});`;

const tools = ['deep', 'pair', 'endless', 'alone', 'answer', 'heap'];

describe('tools that call tools', () => {
  let server: ServerProcess;

  before(async () => {
    const folder = temporaryFolder('recursion');
    for (const [key, other] of [
      ['ping', 'pong'],
      ['pong', 'ping'],
    ] as const) {
      const plugin = join(folder, 'plugins', key);
      await mkdir(plugin, { recursive: true });
      const facts = {
        manifestVersion: 1,
        key,
        version: '1.0.0',
        title: key,
        summary: 'Calls tools.',
        entry: 'index.js',
      };
      const contributes = { tool: tools.map((name) => `${key}_${name}`) };
      await writeFile(join(plugin, 'plugin.json'), JSON.stringify({ ...facts, contributes }));
      await writeFile(join(plugin, 'package.json'), '{"type": "module"}');
      await writeFile(join(plugin, 'index.js'), code(key, other));
    }
    const enabled = ['admin', 'logbook', 'mcp-server', 'ping', 'pong'];
    const plugins = Object.fromEntries(enabled.map((key) => [key, { enabled: true }]));
    server = await startServer({ folder, plugins: { version: 1, plugins } });
  });
  after(() => server.dispose());

  interface Result {
    readonly isError: boolean;
    readonly value: Readonly<Record<string, unknown>>;
  }

  async function call(name: string, args: object = {}): Promise<Result> {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
    const response = await server.post('/mcp', message);
    const { result } = (await response.json()) as {
      result: { readonly isError?: boolean; readonly content: readonly [{ readonly text: string }] };
    };
    return { isError: result.isError === true, value: JSON.parse(result.content[0].text) };
  }

  const heap = async () => (await call('ping_heap')).value as { megabytes: number; deepest: number };

  // The request itself is the first of the 64 calls.
  it('answer below the depth limit, alone and in pairs', async () => {
    for (const name of ['ping_deep', 'ping_pair']) {
      expect((await call(name, { left: 62 })).value).to.include({ depth: 63 });
    }
  });

  for (const [what, name, args] of [
    ['1,000 deep alone', 'ping_deep', { left: 1_000 }],
    ['1,000 deep in pairs', 'ping_pair', { left: 1_000 }],
    ['endlessly alone', 'ping_alone', {}],
    ['endlessly in pairs', 'ping_endless', {}],
  ] as const) {
    it(`${what} get a coded error, while others are served and memory stays flat`, async () => {
      const round = async (): Promise<void> => {
        const nested = Promise.all(Array.from({ length: 50 }, () => call(name, args)));
        let ended = false;
        void nested.finally(() => {
          ended = true;
        });
        let served = 0;
        do {
          expect((await call('pong_answer')).value).to.include({ ok: true });
          expect((await server.fetch('/healthz')).status).to.equal(200);
          served += 1;
        } while (!ended);
        expect(served).to.be.at.least(1);
        for (const result of await nested) {
          expect(result.isError).to.equal(true);
          expect(result.value).to.include({ ok: false, code: 'call_too_deep' });
        }
      };
      await round();
      await round();
      const before = await heap();
      for (let rounds = 0; rounds < 10; rounds += 1) await round();
      const after = await heap();
      expect(after.deepest).to.be.at.most(64);
      expect(after.megabytes - before.megabytes).to.be.below(5);
    });
  }

  it('leave their plugins running', async () => {
    const { plugins } = (await (await server.fetch('/admin/plugins')).json()) as {
      plugins: readonly { readonly key: string; readonly state: string }[];
    };
    const states = plugins.filter(({ key }) => key === 'ping' || key === 'pong').map(({ state }) => state);
    expect(states).to.deep.equal(['active', 'active']);
  });
});
