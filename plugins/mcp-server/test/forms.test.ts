import { expect } from 'chai';
import { createTestHost, oneDatabase, type TestHost } from 'mortise/sdk/testing';
import { createProbe, fakeMemory } from './probe-plugin.js';
import { at, callTool, postText, rpc } from './support.js';

const correlation = /^corr-[0-9a-f]{16}$/;
const five = ['memory_store', 'memory_query', 'reliability_report', 'governance_update', 'evidence_upload'];

describe('the MCP endpoint for plain callers', () => {
  oneDatabase((engine) => {
    let host: TestHost;
    before(async () => {
      host = await createTestHost({
        plugins: ['mcp-server'],
        extra: [createProbe().plugin, fakeMemory()],
        database: engine.env,
      });
    });
    after(() => host.stop());

    it('lists the five tools first, to a curl that sends a form content type', async () => {
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const { status, body, headers } = await postText(host, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', form);
      expect(status).to.equal(200);
      const tools = at(body, 'result', 'tools') as { name: string; description: string; inputSchema: object }[];
      expect(tools.slice(0, 5).map(({ name }) => name)).to.deep.equal(five);
      const others = tools.slice(5).map(({ name }) => name);
      expect(others)
        .to.deep.equal([...others].sort())
        .and.to.include('echo')
        .and.not.include('agents_only');
      for (const tool of tools) {
        expect(tool.description).to.be.a('string');
        expect(tool.inputSchema).to.have.property('type', 'object');
        expect(tool).not.to.have.property('outputSchema');
      }
      expect(at(body, 'result', '_meta', 'io.mortise/correlationId')).to.equal(headers.get('x-correlation-id'));
    });

    it('answers a tool call with the same correlation id everywhere', async () => {
      const { status, body, headers } = await rpc(
        host,
        'tools/call',
        { name: 'memory_query', arguments: { query: 'a' } },
        {},
        'x',
      );
      expect(status).to.equal(200);
      expect(at(body, 'id')).to.equal('x');
      expect(at(body, 'result', 'content', 0, 'type')).to.equal('text');
      const result = JSON.parse(String(at(body, 'result', 'content', 0, 'text')));
      expect(result).to.deep.include({ ok: true, tool: 'memory_query' });
      expect(result.correlation_id).to.match(correlation).and.to.equal(headers.get('x-correlation-id'));
      expect(at(body, 'result')).not.to.have.property('structuredContent');
    });

    const refused: readonly [what: string, body: string, status: number, code: number, reason: string, id?: unknown][] =
      [
        ['a broken body', '{', 400, -32700, 'PARSE_ERROR'],
        ['an empty body', '', 400, -32700, 'PARSE_ERROR'],
        ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"nope"}', 200, -32601, 'METHOD_NOT_FOUND', 1],
        [
          'params that are text',
          '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":"x"}',
          400,
          -32600,
          'INVALID_REQUEST',
          1,
        ],
        ['no method', '{"jsonrpc":"2.0","id":1}', 400, -32600, 'INVALID_REQUEST', 1],
        ['a response outside a session', '{"jsonrpc":"2.0","id":1,"result":{}}', 400, -32600, 'INVALID_REQUEST'],
        ['no tool name', '{"jsonrpc":"2.0","id":2,"method":"tools/call"}', 200, -32602, 'MISSING_REQUIRED_PARAM', 2],
        [
          'a tool name that is a number',
          '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}',
          200,
          -32602,
          'INVALID_PARAM_TYPE',
          2,
        ],
        [
          'an unknown tool',
          '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nope"}}',
          200,
          -32602,
          'UNKNOWN_TOOL',
          2,
        ],
        [
          'a bad cursor',
          '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"x"}}',
          200,
          -32602,
          'INVALID_PARAM_VALUE',
          2,
        ],
      ];
    for (const [what, text, status, code, reason, id] of refused) {
      it(`answers ${status} ${code} ${reason} to ${what}`, async () => {
        const answer = await postText(host, text);
        expect(answer.status).to.equal(status);
        expect(answer.body).to.have.nested.property('error.code', code);
        expect(answer.body).to.have.nested.property('error.data.reason', reason);
        expect(at(answer.body, 'error', 'data', 'details')).to.be.an('object');
        expect(at(answer.body, 'error', 'data', 'correlation_id')).to.equal(answer.headers.get('x-correlation-id'));
        if (id === undefined) expect(answer.body).not.to.have.property('id');
        else expect(answer.body).to.have.property('id', id);
      });
    }

    it('adds ok: false to a missing method, for callers of the legacy form', async () => {
      expect((await postText(host, '{"jsonrpc":"2.0","id":1}')).body).to.include({ ok: false });
      expect((await postText(host, '{"jsonrpc":"2.0","id":1,"tool":"echo"}')).body).to.include({ ok: false });
    });

    it('lists the available methods', async () => {
      const { body } = await rpc(host, 'nope');
      expect(at(body, 'error', 'data', 'details', 'available_methods')).to.include.members([
        'tools/list',
        'tools/call',
        'ping',
      ]);
    });

    for (const [what, text] of [
      ['JSON-RPC 1.0', '{"jsonrpc":"1.0","method":"tools/list"}'],
      ['a method without version', '{"method":"tools/list"}'],
      ['arguments that are null', '{"tool":"memory_query","arguments":null}'],
      ['a tool that is a number', '{"tool":5}'],
    ]) {
      it(`refuses ${what} without JSON-RPC around it`, async () => {
        const { status, body } = await postText(host, text ?? '');
        expect(status).to.equal(400);
        expect(body).to.include({ ok: false, reason: 'INVALID_REQUEST' }).and.not.have.property('jsonrpc');
        expect(at(body, 'error'))
          .to.be.a('string')
          .that.matches(/^Invalid request format: /);
      });
    }

    for (const text of ['5', 'null', '"x"', 'true']) {
      it(`refuses the body ${text}`, async () => {
        const { status, body } = await postText(host, text);
        expect(status).to.equal(400);
        expect(body).to.include({ ok: false, reason: 'INVALID_REQUEST' });
        expect(at(body, 'detail')).to.equal(at(body, 'error'));
      });
    }

    it('refuses a body that is nested too deeply, and keeps running', async () => {
      const depth = 50_000;
      const { status, body } = await postText(host, `${'['.repeat(depth)}${']'.repeat(depth)}`);
      expect(status).to.equal(400);
      expect(body).to.include({ reason: 'INVALID_REQUEST' });
      expect((await rpc(host, 'ping')).status).to.equal(200);
    });

    it('prefers JSON-RPC when both forms are present', async () => {
      const { body } = await postText(host, '{"jsonrpc":"2.0","id":1,"method":"ping","tool":"echo"}');
      expect(body).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
    });

    it('runs a request without id and answers without one', async () => {
      for (const id of ['', '"id":null,']) {
        const { status, body } = await postText(host, `{"jsonrpc":"2.0",${id}"method":"ping"}`);
        expect(status).to.equal(200);
        expect(body).to.deep.equal({ jsonrpc: '2.0', result: {} });
      }
    });

    it('echoes any id as it was sent', async () => {
      for (const id of ['12345678901234567890', '"a\\u0000b"', '{"a":1}', '-0.5', 'true']) {
        const { text } = await postText(host, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
        expect(text).to.contain(`"id":${id}`);
      }
    });

    it('accepts a notification without a body', async () => {
      const { status, text } = await postText(host, '{"jsonrpc":"2.0","method":"notifications/whatever"}');
      expect([status, text]).to.deep.equal([202, '']);
    });

    it('accepts any Accept header', async () => {
      for (const accept of ['*/*', 'text/html', 'application/json', 'application/xml;q=0.1']) {
        expect((await rpc(host, 'ping', undefined, { accept })).body).to.deep.equal({
          jsonrpc: '2.0',
          id: 1,
          result: {},
        });
      }
    });

    it('accepts a label of the client as Mcp-Session-Id', async () => {
      expect((await rpc(host, 'tools/list', undefined, { 'mcp-session-id': 'my-log-label' })).status).to.equal(200);
    });

    describe('with several messages in one body', () => {
      it('answers them in order and skips notifications', async () => {
        const { status, body } = await postText(
          host,
          JSON.stringify([
            { jsonrpc: '2.0', id: 'b', method: 'ping' },
            { jsonrpc: '2.0', method: 'notifications/x' },
            { jsonrpc: '2.0', id: 'a', method: 'nope' },
            5,
            { jsonrpc: '2.0', id: 'i', method: 'initialize' },
            { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'noop' } },
          ]),
        );
        expect(status).to.equal(200);
        const answers = body as { id?: unknown; error?: { code: number } }[];
        expect(answers.map(({ id, error }) => [id, error?.code])).to.deep.equal([
          ['b', undefined],
          ['a', -32601],
          [undefined, -32600],
          ['i', -32600],
          ['c', undefined],
        ]);
      });

      it('answers notifications alone without a body', async () => {
        expect((await postText(host, '[{"jsonrpc":"2.0","method":"notifications/x"}]')).status).to.equal(202);
      });

      it('refuses none, too many, and other versions', async () => {
        const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
        const full = JSON.stringify(Array.from({ length: 50 }, () => ping));
        const more = JSON.stringify(Array.from({ length: 51 }, () => ping));
        expect((await postText(host, full)).status).to.equal(200);
        for (const [body, version] of [
          ['[]', '2025-03-26'],
          [more, '2025-03-26'],
          [JSON.stringify([ping]), '2025-06-18'],
          [JSON.stringify([ping]), '2026-07-28'],
        ] as const) {
          const answer = await postText(host, body, { 'mcp-protocol-version': version });
          expect(answer.status).to.equal(400);
          expect(answer.body).to.have.nested.property('error.code', -32600);
        }
      });
    });

    describe('in the legacy form', () => {
      const legacy = (tool: unknown, args?: unknown) => postText(host, JSON.stringify({ tool, arguments: args }));

      it('answers with the result', async () => {
        const { status, body, headers } = await legacy('reliability_report');
        expect(status).to.equal(200);
        const id = headers.get('x-correlation-id');
        expect(body).to.deep.equal({
          ok: true,
          result: { ok: true, tool: 'reliability_report', correlation_id: id },
          error: null,
          correlation_id: id,
        });
      });

      it('passes through a refusal of the tool', async () => {
        const { status, body } = await legacy('refuses', {});
        expect(status).to.equal(200);
        expect(body).to.deep.include({ ok: false, error: 'Not today.' });
        expect(at(body, 'result', 'ok')).to.equal(false);
      });

      for (const [tool, args, reason] of [
        ['nope', {}, 'UNKNOWN_TOOL'],
        ['memory_query', {}, 'MISSING_REQUIRED_PARAM'],
        ['memory_query', { query: 'a', top_k: '5' }, 'INVALID_PARAM_TYPE'],
        ['backend_down', {}, 'OPENMEMORY_CONNECTION_FAILED'],
        ['breaks', {}, 'UNHANDLED_EXCEPTION'],
      ] as const) {
        it(`answers ${reason} for ${tool}`, async () => {
          const { status, body } = await legacy(tool, args);
          expect(status).to.equal(200);
          expect(body).to.deep.include({ ok: false, reason, result: null }).and.not.have.property('jsonrpc');
          expect(at(body, 'details')).to.be.an('object');
        });
      }
    });

    it('names the missing member when a call names no tool', async () => {
      const { body } = await rpc(host, 'tools/call', {});
      expect(at(body, 'error', 'message')).to.contain('name');
      expect(at(body, 'error', 'data', 'details', 'path')).to.equal('/name');
    });

    it('gives every request its own correlation id', async () => {
      const ids = await Promise.all(
        ['a', 'b'].map(async () => at((await callTool(host, 'nope')).body, 'error', 'data', 'correlation_id')),
      );
      expect(ids[0]).not.to.equal(ids[1]);
    });
  });
});
