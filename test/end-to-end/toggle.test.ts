import { expect } from 'chai';
import { createTestHost, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

/** A tool that waits until the test releases it. */
function waitingTool(): { plugin: TestPlugin; began: Promise<void>; finish: () => void } {
  let finish: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const began = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const plugin: TestPlugin = {
    manifest: { key: 'tool-wait', contributes: { tool: ['wait'] } },
    definition: {
      key: 'tool-wait',
      register(host) {
        host.contribute('tool', 'wait', {
          summary: 'Waits.',
          audience: ['mcp'],
          inputSchema: { type: 'object' },
          run: async () => {
            begin();
            await held;
            return { waited: true };
          },
        });
      },
    },
  };
  return { plugin, began, finish };
}

const call = (name: string): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
});

describe('toggling a plugin over HTTP', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  it('finishes the call in flight, refuses later calls as unknown, and affects no other plugin', async () => {
    const { plugin, began, finish } = waitingTool();
    host = await createTestHost({ plugins: ['admin', 'logbook', 'mcp-server'], extra: [plugin] });
    const others = (): unknown =>
      host.control
        .list()
        .filter((row) => row.key !== 'tool-wait')
        .map(({ key, state, since }) => ({ key, state, since }));
    const before = others();
    const running = host.post('/mcp', call('wait'));
    await began;
    const disabling = host.post('/admin/plugins/tool-wait/disable', {});
    while (host.control.list().find((row) => row.key === 'tool-wait')?.state !== 'draining')
      await new Promise((resolve) => setImmediate(resolve));
    const later = (await (await host.post('/mcp', call('wait'))).json()) as { error: { data: { reason: string } } };
    expect(later.error.data.reason).to.equal('UNKNOWN_TOOL');
    finish();
    const { result } = (await (await running).json()) as { result: { content: { text: string }[] } };
    expect(JSON.parse(result.content[0]?.text ?? '')).to.include({ waited: true });
    expect((await disabling).status).to.equal(200);
    expect(others()).to.deep.equal(before);
  });

  it('names the disabled plugin on its route', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook', 'mcp-server'] });
    await host.post('/admin/plugins/mcp-server/disable', {});
    const answer = await host.fetch('/mcp', { method: 'POST', body: '{}' });
    expect(answer.status).to.equal(404);
    expect(await answer.text()).to.contain('plugin mcp-server is disabled');
  });

  it('holds a request while the plugin or its dependency starts, and then answers it', async () => {
    let finish: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const serving = (key: string, more: object, start?: () => Promise<void>): TestPlugin => ({
      manifest: {
        key,
        permissions: { routes: [{ name: key, kind: 'http', method: 'GET', path: `/${key}`, auth: 'public' }] },
        ...more,
      },
      definition: {
        key,
        register: (made) => void made.contribute('route', key, { handle: () => ({ body: { here: key } }) }),
        ...(start ? { start } : {}),
      },
    });
    const slow = serving('slow-start', {}, () => held);
    const next = serving('next-start', { requires: ['slow-start'] });
    host = await createTestHost({ extra: [slow, next], disabled: ['slow-start'] });
    const enabling = host.control.enable('slow-start');
    while (host.control.list().find((row) => row.key === 'slow-start')?.state !== 'starting')
      await new Promise((resolve) => setImmediate(resolve));
    const asked = ['slow-start', 'next-start'].map(async (key) => (await host.fetch(`/${key}`)).json());
    // The requests are read before the start continues.
    await host.fetch('/healthz');
    finish();
    expect(await Promise.all(asked)).to.deep.equal([{ here: 'slow-start' }, { here: 'next-start' }]);
    expect((await enabling).state).to.equal('active');
  });

  it('logs the plugin of a failed tool call, and not its arguments', async () => {
    const failing: TestPlugin = {
      manifest: { key: 'tool-fails', contributes: { tool: ['fails'] } },
      definition: {
        key: 'tool-fails',
        register(made) {
          made.contribute('tool', 'fails', {
            summary: 'Fails.',
            audience: ['mcp'],
            inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
            run: ({ text }) => {
              throw new Error(`cannot handle ${text}`);
            },
          });
        },
      },
    };
    host = await createTestHost({ plugins: ['admin', 'logbook', 'mcp-server'], extra: [failing] });
    await host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const params = { name: 'fails', arguments: { text: 'canarytooltext' } };
    const answer = await (await host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).text();
    const log = host.logs.join('');
    expect(answer + log).not.to.contain('canarytooltext');
    expect(log).to.contain('"tool":"fails"').and.to.contain('"tool_plugin":"tool-fails"');
    const { contributions } = await host.control.inspect('tool-fails');
    expect(contributions.find(({ key }) => key === 'fails')).to.include({ calls: 1, errors: 1 });
  });

  it('audits a change and a refusal', async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook', 'provider-demo'] });
    await host.post('/admin/plugins/provider-demo/disable', {});
    const missing = await host.post('/admin/plugins/no-such-plugin/enable', {});
    expect(missing.status).to.equal(404);
    const { rows } = await host.service('audit').query({ limit: 10 });
    expect(rows.map(({ operation, action, reason }) => [operation, action, reason])).to.deep.include.members([
      ['admin:disable', 'allow', 'admin:done'],
      ['admin:enable', 'reject', 'admin:plugin_not_found'],
    ]);
  });
});
