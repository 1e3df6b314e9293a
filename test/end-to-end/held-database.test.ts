import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, type TestPlugin } from 'mortise/sdk/testing';

const permissions = { services: ['database' as const], schemas: ['holding'] };

/** Its migration never ends. */
const migrates: TestPlugin = {
  manifest: { key: 'migrates-for-ever', permissions, timeouts: { start: 500 } },
  definition: {
    key: 'migrates-for-ever',
    register() {},
    start: (host) =>
      host.use('database').migrate([
        {
          name: '0001-endless',
          up: async (schema) => {
            await schema.createTable('holding.rows', (table) => {
              table.text('text');
            });
            return new Promise(() => undefined);
          },
        },
      ]),
  },
};

/** A tool whose transaction never ends, even after its call has ended. */
function holds(): { readonly plugin: TestPlugin; readonly began: Promise<void> } {
  const { promise: began, resolve } = Promise.withResolvers<void>();
  const plugin: TestPlugin = {
    manifest: { key: 'holds-for-ever', permissions, contributes: { tool: ['hold'] }, timeouts: { drain: 20_000 } },
    definition: {
      key: 'holds-for-ever',
      register() {},
      start(host) {
        const database = host.use('database');
        host.contribute('tool', 'hold', {
          summary: 'Holds.',
          audience: ['mcp'],
          inputSchema: { type: 'object' },
          run: () =>
            database.transaction(async (trx) => {
              await database.statement('select 1 as one', [], { trx });
              resolve();
              return new Promise<never>(() => undefined);
            }),
        });
      },
    },
  };
  return { plugin, began };
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'hold', arguments: {} } };

describe('a plugin that holds the database', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    afterEach(() => host.stop());

    const post = (path: string, body: object = {}): Promise<Response> =>
      host.fetch(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });

    it('in a migration fails alone at its time limit, and it and others can be toggled', async () => {
      host = await createTestHost({
        plugins: ['admin', 'logbook', 'mcp-server'],
        extra: [migrates],
        disabled: ['migrates-for-ever'],
        database: engine.env,
      });
      const enabled = await post('/admin/plugins/migrates-for-ever/enable');
      expect([enabled.status, host.control.list().find((row) => row.key === 'migrates-for-ever')?.code]).to.deep.equal([
        422,
        'start_timeout',
      ]);
      expect((await post('/admin/plugins/mcp-server/restart')).status).to.equal(200);
      expect((await post('/admin/plugins/migrates-for-ever/disable')).status).to.equal(200);
      expect((await host.fetch('/ready')).status).to.equal(200);
    });

    it('in a call can be disabled, and no other plugin is blamed', async () => {
      const { plugin, began } = holds();
      host = await createTestHost({
        plugins: ['admin', 'logbook', 'mcp-server'],
        extra: [plugin],
        database: engine.env,
      });
      const answer = post('/mcp', call);
      await began;
      const disabled = await post('/admin/plugins/holds-for-ever/disable');
      expect([disabled.status, ((await disabled.json()) as { state: string }).state]).to.deep.equal([200, 'disabled']);
      await answer;
      expect((await host.fetch('/ready')).status).to.equal(200);
      expect(host.logs.filter((line) => line.includes('ignored_abort'))).to.deep.equal([]);
    });
  });
});
