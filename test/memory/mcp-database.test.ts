import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Json } from 'mortise/contracts/memory-gateway/testing';
import type { Database, PluginDefinition, RegisterHost } from 'mortise/sdk';
import {
  createTestHost,
  eachDatabase,
  type TestEngine,
  type TestHost,
  type TestPlugin,
  temporaryFolder,
  until,
} from 'mortise/sdk/testing';
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.js';
import { memoryPlugins } from './memory-host.js';

interface RpcAnswer {
  readonly result?: Json & { readonly tools?: readonly { readonly name: string }[] };
  readonly error?: { readonly code: number; readonly data: Json };
}

const stateless = '2026-07-28';

async function rpc(host: TestHost, method: string, params: Json = {}, headers: Record<string, string> = {}) {
  const response = await host.post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers);
  return { headers: response.headers, ...((await response.json()) as RpcAnswer) };
}

/** A request of the stateless protocol revision from a client that follows tasks. */
function taskRequest(host: TestHost, taskId: string) {
  const headers = { 'mcp-protocol-version': stateless, 'mcp-method': 'tasks/get', 'mcp-name': taskId };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': stateless,
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  return rpc(host, 'tasks/get', { taskId, _meta }, headers);
}

/** Creates a conflicting table with the name of one that a plugin is going to create. */
async function createConflict(engine: TestEngine, table: string, dataDir: string): Promise<void> {
  const schemas = ['logbook'];
  const migrate = (database: Database) =>
    database.migrate([
      { name: '0001-spoil', up: (schema) => schema.createTable(table, (t) => void t.integer('nothing')) },
    ]);
  if (engine.dialect === 'postgres') return migrate(await engine.open('conflicting', schemas));
  // The host creates the file, so a host without other plugins runs the migration.
  const manifest = { key: 'conflicting', permissions: { services: ['database'], schemas } } as const;
  const definition: PluginDefinition = {
    key: 'conflicting',
    register() {},
    start: (host) => migrate(host.use('database')),
  };
  const host = await createTestHost({ extra: [{ manifest, definition, isShipped: true }], dataDir, listen: false });
  const state = host.control.list().find(({ key }) => key === 'conflicting')?.state;
  await host.stop();
  expect(state).to.equal('active');
}

const taskTool: TestPlugin = {
  manifest: { key: 'task-tool', contributes: { tool: ['job'] } },
  definition: {
    key: 'task-tool',
    register(host) {
      const inputSchema = { type: 'object' };
      host.contribute('tool', 'job', {
        summary: 'J.',
        audience: ['mcp'],
        inputSchema,
        task: 'allowed',
        run: () => ({}),
      });
    },
  },
};

describe('the MCP endpoint when a migration has failed', () => {
  const withConflict = (plugin: string, table: string, tests: (host: () => TestHost) => void): void => {
    eachDatabase(
      (engine) => {
        let host: TestHost;
        let dataDir: string;
        before(async () => {
          dataDir = temporaryFolder('conflict');
          await createConflict(engine, table, dataDir);
          host = await createTestHost({
            plugins: memoryPlugins,
            extra: [taskTool],
            mayFail: [plugin],
            dataDir,
            database: engine.env,
          });
        });
        after(() => host.stop());
        tests(() => host);
      },
      { keepRows: true },
    );
  };

  describe('of the logbook', () => {
    withConflict('logbook', 'logbook.items', (host) => {
      it('lists the tools that cannot run, and reports that they wait for the database', async () => {
        const { result } = await rpc(host(), 'tools/list');
        expect(result?.tools?.map(({ name }) => name)).to.include.members(['memory_store', 'memory_query']);
        const args = { payload_md: 'Nowhere to go', target_space: 'private:me' };
        const { error } = await rpc(host(), 'tools/call', { name: 'memory_store', arguments: args });
        expect(error?.code).to.equal(-32001);
        expect(error?.data).to.deep.include({
          category: 'dependency',
          reason: 'LOGBOOK_DB_CHECK_FAILED',
          retryable: false,
          details: { service: 'database', tool: 'memory_store' },
        });
      });

      it('reports the problem in its health, and the conflicting table in the log', async () => {
        const deep = await host().fetch('/health?deep=1');
        expect(deep.status).to.equal(503);
        expect((await deep.json()) as Json).to.deep.include({ ok: false });
        expect(host().logs.join('')).to.match(/items\b[^\n]* already exists/);
      });

      it('runs tools that do not need it', async () => {
        expect((await rpc(host(), 'tools/call', { name: 'job' })).result).to.have.property('content');
      });
    });
  });

  describe('of its own', () => {
    withConflict('mcp-server', 'logbook.mcp_sessions', (host) => {
      it('serves clients without a session, and stores no tasks', async () => {
        const { headers, result } = await rpc(host(), 'initialize', { protocolVersion: '2025-11-25' });
        expect(result).to.include({ protocolVersion: '2025-11-25' });
        expect(headers.get('mcp-session-id')).to.equal(null);
        const args = { payload_md: 'Kept all the same', target_space: 'private:me' };
        const stored = await rpc(host(), 'tools/call', { name: 'memory_store', arguments: args });
        expect(JSON.stringify(stored.result)).to.include('\\"ok\\":true');
        const { error } = await taskRequest(host(), 'task_0');
        expect(error?.code).to.equal(-31001);
        expect(error?.data).to.include({ reason: 'LOGBOOK_DB_CHECK_FAILED', code_name: 'DEPENDENCY_UNAVAILABLE' });
      });
    });
  });
});

/** A plugin that reads from the database when it starts, and restarts with every change of its configuration. */
const needy: TestPlugin = {
  manifest: {
    key: 'needy',
    permissions: { services: ['database'] },
    contributes: {
      tool: [{ key: 'needs_rows', facts: { summary: 'N.', audience: ['mcp'], inputSchema: { type: 'object' } } }],
    },
  },
  configSchema: { type: 'object', properties: { round: { type: 'integer', default: 0 } } },
  definition: () => ({
    key: 'needy',
    register(host: RegisterHost) {
      const inputSchema = { type: 'object' };
      host.contribute('tool', 'needs_rows', {
        summary: 'N.',
        audience: ['mcp'],
        inputSchema,
        run: () => ({ ok: true }),
      });
    },
    async start(host: { use(name: 'database'): Database }) {
      await host.use('database').statement('select 1 as one');
    },
  }),
};

describe('the MCP endpoint when the database is down', () => {
  eachDatabase(
    (engine) => {
      if (engine.dialect === 'sqlite') return; // A file cannot be unreachable.
      let host: TestHost;
      let proxy: DatabaseProxy;
      before(async () => {
        proxy = await startDatabaseProxy(engine.env.DATABASE_HOST ?? '', Number(engine.env.DATABASE_PORT));
        const database = { ...engine.env, DATABASE_HOST: '127.0.0.1', DATABASE_PORT: String(proxy.port) };
        host = await createTestHost({ plugins: ['mcp-server'], extra: [needy, taskTool], database });
      });
      after(async () => {
        await host.stop();
        await proxy.disconnect().catch(() => {});
      });
      const stateOf = () => host.control.list().find(({ key }) => key === 'needy');
      const restart = (round: number) => writeFile(join(host.configDir, 'needy.json'), JSON.stringify({ round }));

      it('reports it for tools whose plugin could not start, serves the others, and recovers', async () => {
        const session = (await rpc(host, 'initialize')).headers.get('mcp-session-id') ?? '';
        await proxy.disconnect();
        await restart(1);
        await until('the plugin fails', () => stateOf()?.state === 'failed');
        const { error } = await rpc(host, 'tools/call', { name: 'needs_rows' });
        expect(error?.code).to.equal(-32001);
        expect(error?.data).to.deep.include({
          reason: 'LOGBOOK_DB_CHECK_FAILED',
          retryable: false,
          details: { service: 'database', tool: 'needs_rows' },
        });
        const { result } = await rpc(host, 'tools/list');
        expect(result?.tools?.map(({ name }) => name)).to.deep.equal(['needs_rows', 'job']);

        const begun = await rpc(host, 'initialize');
        expect(begun.headers.get('mcp-session-id')).to.equal(null);
        expect((await rpc(host, 'tools/call', { name: 'job' })).result).to.have.property('content');
        const task = await taskRequest(host, 'task_0');
        expect(task.error?.data).to.include({ reason: 'LOGBOOK_DB_UNAVAILABLE', retryable: true });

        const ask = (method: string, id: string) =>
          fetch(`${host.origin}/mcp`, { method, headers: { 'mcp-session-id': id, accept: 'text/event-stream' } });
        // A session that this process has not cached.
        const other = session.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
        for (const answer of [ask('GET', other), ask('DELETE', session)]) {
          const response = await answer;
          expect(response.status).to.equal(503);
          expect(((await response.json()) as RpcAnswer).error?.data).to.include({ reason: 'LOGBOOK_DB_UNAVAILABLE' });
        }

        await proxy.reconnect();
        expect((await ask('DELETE', session)).status).to.equal(204);
        await restart(2);
        await until('the plugin runs', () => stateOf()?.state === 'active');
        expect((await rpc(host, 'tools/call', { name: 'needs_rows' })).result).to.have.property('content');
        expect((await rpc(host, 'initialize')).headers.get('mcp-session-id')).to.match(/^mcps_/);
      });
    },
    { keepRows: true },
  );
});
