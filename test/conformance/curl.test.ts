import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, type ServerProcess, startServer } from 'mortise/sdk/testing';
import { run } from './command.js';

interface Reply {
  readonly status: number;
  readonly headers: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const correlation = /^corr-[0-9a-f]{16}$/;

describe('curl', () => {
  eachDatabase(
    (engine) => {
      let server: ServerProcess;
      before(async () => {
        const project = join(import.meta.dirname, '..', '..', '..');
        const asShipped = JSON.parse(await readFile(join(project, 'plugins.json'), 'utf8')) as object;
        server = await startServer({ plugins: asShipped, database: engine.env, limitMs: 60_000 });
      });
      after(() => server.dispose());

      const curl = async (...args: readonly string[]): Promise<Reply> => {
        const { exitCode, stdout, stderr } = await run('curl', [
          '--silent',
          '--show-error',
          '--include',
          ...args,
          `${server.origin}/mcp`,
        ]);
        expect(exitCode, stderr).to.equal(0);
        const [head = '', text = ''] = stdout.split('\r\n\r\n');
        const body = text === '' ? {} : (JSON.parse(text) as Reply['body']);
        return { status: Number(head.split(' ')[1]), headers: head.toLowerCase(), body };
      };
      const send = (body: object, ...args: readonly string[]) => curl('--data', JSON.stringify(body), ...args);
      const json = ['--header', 'Content-Type: application/json'];
      const resultOf = ({ body }: Reply) => body.result as { readonly content: readonly { readonly text: string }[] };

      it('lists tools with and without a JSON content type', async () => {
        const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
        for (const args of [json, []]) {
          const { status, body } = await send(list, ...args);
          expect(status).to.equal(200);
          expect(body).to.include({ jsonrpc: '2.0', id: 1 });
          expect((body.result as { readonly tools: readonly object[] }).tools).to.have.length(5);
        }
      });

      it('calls a tool over JSON-RPC', async () => {
        const params = {
          name: 'memory_store',
          arguments: { payload_md: 'Sent by curl.', target_space: 'private:curl' },
        };
        const reply = await send({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params }, ...json);
        const answer = JSON.parse(resultOf(reply).content[0]?.text ?? '') as Reply['body'];
        expect(answer, JSON.stringify(answer)).to.include({ ok: true, action: 'allow', space_written: 'private:curl' });
        expect(answer.correlation_id).to.match(correlation);
        expect(reply.headers).to.include(`x-correlation-id: ${answer.correlation_id}`);
      });

      it('calls a tool with the legacy body', async () => {
        const args = { query: 'curl', spaces: ['private:curl'] };
        const { status, body } = await send({ tool: 'memory_query', arguments: args }, ...json);
        expect(status).to.equal(200);
        expect(body).to.include({ ok: true, error: null }).and.not.have.property('jsonrpc');
        expect(body.result).to.include({ ok: true, total: 1 });
        expect((await send({ tool: 'nope', arguments: {} }, ...json)).body).to.include({
          ok: false,
          reason: 'UNKNOWN_TOOL',
        });
      });

      it('treats a body that has both forms as JSON-RPC', async () => {
        const { body } = await send({ jsonrpc: '2.0', id: 1, method: 'tools/list', tool: 'memory_query' }, ...json);
        expect(body).to.include({ jsonrpc: '2.0' });
      });

      it('gets machine-readable errors', async () => {
        const { body } = await send(
          { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'memory_store' } },
          ...json,
        );
        const { code, data } = body.error as { readonly code: number; readonly data: Reply['body'] };
        expect(code).to.equal(-32602);
        expect(data).to.include({ category: 'validation', reason: 'MISSING_REQUIRED_PARAM', retryable: false });
        expect(data.correlation_id).to.match(correlation);
        expect(data.details).to.include({ tool: 'memory_store', path: '/payload_md' });
        const broken = await curl('--data', '{');
        expect([broken.status, (broken.body.error as Reply['body']).code]).to.deep.equal([400, -32700]);
      });

      it('gets the CORS headers that a browser preflight needs', async () => {
        const preflight = ['Origin: http://localhost:3000', 'Access-Control-Request-Method: POST'];
        const { status, headers } = await curl(
          '--request',
          'OPTIONS',
          ...preflight.flatMap((one) => ['--header', one]),
        );
        expect(status).to.equal(204);
        expect(headers).to.include('access-control-allow-origin: *');
        expect(headers).to.include('access-control-allow-methods: post, options');
        expect(headers).to.include('access-control-allow-headers: content-type, authorization, mcp-session-id');
      });

      it('uses a session until it deletes it', async () => {
        const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
        const { headers } = await send(initialize, ...json);
        const session = ['--header', `Mcp-Session-Id: ${/mcp-session-id: (\S+)/.exec(headers)?.[1]}`];
        const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
        expect((await send(list, ...json, ...session)).status).to.equal(200);
        expect((await curl('--request', 'DELETE', ...session)).status).to.equal(204);
        expect((await send(list, ...json, ...session)).status).to.equal(404);
      });
    },
    { keepRows: true },
  );
});
