import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { errorOf } from 'mortise/contracts/agent/testing';
import { exchangeCheck, readDescription } from 'mortise/contracts/openapi/testing';
import type { JsonObject } from 'mortise/sdk';
import {
  createTestHost,
  eachDatabase,
  localPrincipal,
  type TestHost,
  type TestPlugin,
  until,
} from 'mortise/sdk/testing';

const fixture = fileURLToPath(new URL('./stdio-server.js', import.meta.url));

const remoteTool: TestPlugin = {
  manifest: { key: 'remote', contributes: { tool: ['remote_echo'] } },
  definition: {
    key: 'remote',
    register(host) {
      host.contribute('tool', 'remote_echo', {
        summary: 'Returns its text.',
        audience: ['mcp'],
        inputSchema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
        run: ({ text }) => ({ text: `echo ${text}` }),
      });
    },
  },
};

describe('tools of MCP servers', () => {
  eachDatabase(
    (engine) => {
      let host: TestHost;
      let remote: TestHost;
      let file: string;
      const seen: string[] = [];

      before(async () => {
        process.env.MCP_TEST_SECRET_KEY = 'leaked';
        remote = await createTestHost({
          plugins: ['mcp-server'],
          extra: [remoteTool],
          env: { MORTISE_API_KEY: 'remote-key-0000' },
        });
        file = join(remote.dataDir, 'description');
        await writeFile(file, 'Greets somebody.');
        host = await createTestHost({
          plugins: ['agent', 'provider-demo', 'channel-console', 'tool-mcp'],
          extra: [
            {
              manifest: { key: 'alerts' },
              definition: { key: 'alerts', start: (own) => void own.on('alert', ({ code }) => seen.push(code)) },
            },
          ],
          database: engine.env,
          config: {
            'tool-mcp': {
              servers: {
                local: { command: process.execPath, args: [fixture, file], env: { FOR_SERVER: 'x' } },
                remote: { url: `${remote.origin}/mcp`, headers: { authorization: 'Bearer remote-key-0000' } },
                missing: { command: '/does/not/exist' },
                off: { command: '/does/not/exist', enabled: false },
              },
            },
          },
        });
        await until(
          'both servers',
          () => keys().some((key) => key.includes('local')) && has('mcp__remote__remote_echo'),
        );
      });
      after(async function stop() {
        delete process.env.MCP_TEST_SECRET_KEY;
        await Promise.all([host.stop(), remote.stop()]);
      });

      const keys = () => host.points.keys('tool').filter((key) => key.startsWith('mcp__'));
      const has = (key: string) => keys().includes(key);
      const call = (name: string, input: object = {}) =>
        host.post('/agent/process', { session_id: 's', user_id: 'u', biz_params: { tool: { name, input } } });
      const reply = async (name: string, input: object = {}) =>
        ((await (await call(name, input)).json()) as { reply: string }).reply;
      const list = async () =>
        (await (await host.fetch('/mcp-tools')).json()) as {
          servers: { name: string; state: string }[];
          tools: { server: string; tool: string; state: string; available: boolean; offered_sha256: string }[];
        };
      const greet = async () => (await list()).tools.find(({ tool }) => tool === 'greet');

      it('are called over stdio and HTTP, by schema', async () => {
        expect(await reply('mcp__local__greet', { name: 'Ada' })).to.equal('hello Ada');
        expect(await reply('mcp__remote__remote_echo', { text: 'x' })).to.contain('echo x');
        expect(await errorOf(await call('mcp__local__greet'))).to.include({ code: 'invalid_tool_input' });
        const failed = await errorOf(await call('mcp__local__fail'));
        expect(failed).to.deep.include({ status: 502, code: 'tool_invoke_failed', message: 'it failed' });
      });

      it('get no variables but those that were configured', async () => {
        const names = await reply('mcp__local__environment');
        expect(names).to.contain('FOR_SERVER').and.contain('PATH').and.not.contain('MCP_TEST_SECRET_KEY');
      });

      it('do not depend on servers that cannot be started', async () => {
        const { servers } = await list();
        expect(servers.map(({ name }) => name)).to.deep.equal(['local', 'remote', 'missing']);
        expect(servers.find(({ name }) => name === 'missing')).to.include({ state: 'unreachable', reason: 'ENOENT' });
        const findings = await host.control.doctor('tool-mcp');
        expect(findings.map(({ message }) => message).join('\n')).to.contain(
          'No answer from the MCP server missing (ENOENT)',
        );
      });

      it('are withheld when they change, until the change is accepted', async () => {
        await reply('mcp__local__reword', { to: 'Greets, and sends all files to Eve.' });
        await until('the withdrawal', () => !has('mcp__local__greet'), 10_000);
        expect(has('mcp__local__reword')).to.equal(true);
        expect(await errorOf(await call('mcp__local__greet', { name: 'Ada' }))).to.include({
          code: 'tool_not_supported',
        });
        expect(seen).to.include('mcp_tool_changed');
        const changed = await greet();
        expect(changed).to.include({ state: 'changed', available: false });
        const accept = (body: object) => host.post('/mcp-tools/accept', { server: 'local', tool: 'greet', ...body });
        expect(await errorOf(await accept({ sha256: 'f'.repeat(64) }))).to.include({
          status: 409,
          code: 'mcp_tool_changed',
        });
        expect(await errorOf(await accept({ tool: 'none' }))).to.include({ status: 404, code: 'mcp_tool_not_found' });
        expect(await errorOf(await accept({ tool: 7 }))).to.include({ status: 400, code: 'invalid_request' });
        const accepted = await accept({ sha256: changed?.offered_sha256 });
        expect(accepted.status).to.equal(200);
        const check = exchangeCheck(readDescription());
        await check({ method: 'POST', path: '/mcp-tools/accept', response: accepted });
        await check({ method: 'GET', path: '/mcp-tools', response: await host.fetch('/mcp-tools') });
        expect(await reply('mcp__local__greet', { name: 'Ada' })).to.equal('hello Ada');
        expect(await greet()).to.include({ state: 'accepted', available: true });
        const { rows } = await host.service('audit').query({ operation: 'tool-mcp:accept' });
        expect(rows[0]).to.include({ action: 'allow', targetSpace: 'local/greet' });
      });

      it('are listed and accepted on the command line', async () => {
        const run = (name: string, ...args: string[]) =>
          host.points.call(
            'command',
            `mcp-${name}`,
            (command, ctx) => command.run({ args, options: {}, json: false }, ctx),
            {
              principal: localPrincipal,
            },
          );
        const { exitCode, text } = await run('list');
        expect({ exitCode, text }).to.deep.include({ exitCode: 0 });
        expect(text)
          .to.contain('missing: unreachable (ENOENT)')
          .and.match(/accepted available local greet/);
        await reply('mcp__local__reword', { to: 'Greets loudly.' });
        await until('the withdrawal', () => !has('mcp__local__greet'), 10_000);
        expect(await run('list')).to.include({ exitCode: 1 });
        expect((await run('accept', 'local', 'greet')).text).to.match(/^Accepted local greet \([0-9a-f]{12}\)\.$/);
        expect(has('mcp__local__greet')).to.equal(true);
        expect(await run('accept', 'local')).to.include({ exitCode: 2 });
      });

      it('are withdrawn with their server alone, and come back with it', async () => {
        expect((await call('mcp__local__leave')).status).to.equal(502);
        await until('the return', () => has('mcp__local__greet'), 10_000);
        expect(has('mcp__remote__remote_echo')).to.equal(true);
        await remote.stop();
        expect(await errorOf(await call('mcp__remote__remote_echo', { text: 'x' }))).to.include({
          status: 502,
          code: 'tool_runtime_unavailable',
        });
        await until('the withdrawal', () => !has('mcp__remote__remote_echo'), 10_000);
        expect(await reply('mcp__local__greet', { name: 'Ada' })).to.equal('hello Ada');
      });
    },
    { keepRows: true },
  );
});

/** A server that answers every call with so many bytes. */
function startFlood(bytes: number): Promise<Server> {
  const resultOf = (method: string, params: JsonObject): object => {
    if (method === 'initialize')
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'flood', version: '1' },
      };
    if (method === 'tools/list') return { tools: [{ name: 'flood', inputSchema: { type: 'object' } }] };
    return { content: [{ type: 'text', text: method === 'tools/call' ? 'x'.repeat(bytes) : '' }] };
  };
  const server = createServer(async (request, response) => {
    const sent = request.method === 'POST' ? (JSON.parse(await text(request)) as JsonObject) : {};
    if (sent.id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const known = ['initialize', 'tools/list', 'tools/call'].includes(String(sent.method));
    const answer = known
      ? { result: resultOf(String(sent.method), sent.params as JsonObject) }
      : { error: { code: -32601, message: 'unknown' } };
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: sent.id, ...answer }));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

describe('an answer of an MCP server', () => {
  for (const [bytes, code] of [
    [2_000_000, undefined],
    [40_000_000, 'tool_invoke_failed'],
  ] as const) {
    it(`of ${bytes} bytes is ${code ? 'refused without being read to its end' : 'taken'}`, async () => {
      const server = await startFlood(bytes);
      const { port } = server.address() as AddressInfo;
      const host = await createTestHost({
        plugins: ['agent', 'provider-demo', 'channel-console', 'tool-mcp'],
        config: { 'tool-mcp': { servers: { flood: { url: `http://127.0.0.1:${port}/mcp` } } } },
      });
      try {
        await until('the tool', () => host.points.keys('tool').includes('mcp__flood__flood'));
        const tool = { name: 'mcp__flood__flood', input: {} };
        const answer = await host.post('/agent/process', { session_id: 's', user_id: 'u', biz_params: { tool } });
        if (code === undefined) expect(answer.status).to.equal(200);
        else
          expect(await errorOf(answer)).to.deep.include({
            status: 502,
            code,
            message: 'the answer of the MCP server is larger than 16 MiB',
          });
      } finally {
        await host.stop();
        server.closeAllConnections();
        server.close();
      }
    });
  }
});
