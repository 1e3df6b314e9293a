import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, fakeMemory, type Probe } from './probe-plugin.js';
import { at, callTool, disconnectsNoticed, openEvents, postText, rpc } from './support.js';

const newer = { 'mcp-protocol-version': '2025-06-18' };

describe('calling tools', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let probe: Probe;
    before(async () => {
      probe = createProbe();
      host = await createTestHost({
        plugins: ['mcp-server'],
        extra: [probe.plugin, fakeMemory()],
        database: engine.env,
        env: {
          MORTISE_GATEWAY_TOOLS: 'agents_only',
          MORTISE_DISABLED_TOOLS: 'switched_off',
          MORTISE_TOOL_RATE_LIMITS: '{"noop":"3/3600"}',
        },
      });
    });
    after(() => host.stop());

    const resultOf = (body: unknown) => JSON.parse(String(at(body, 'result', 'content', 0, 'text'))) as object;
    const errorOf = (body: unknown) =>
      at(body, 'error', 'data') as { reason: string; details: Record<string, unknown> };

    it('sends structured content and output schemas from version 2025-06-18 on', async () => {
      const { body } = await callTool(host, 'echo', { text: '上海' }, newer);
      expect(at(body, 'result', 'structuredContent')).to.deep.equal(resultOf(body));
      expect(String(at(body, 'result', 'content', 0, 'text'))).to.contain('上海');
      const list = await rpc(host, 'tools/list', undefined, newer);
      const tools = at(list.body, 'result', 'tools') as { name: string }[];
      expect(tools.find(({ name }) => name === 'echo')).to.deep.include({
        title: 'Echo',
        description: 'Returns its arguments.',
        annotations: { readOnlyHint: true },
        outputSchema: { type: 'object', properties: { ok: { type: 'boolean' } } },
      });
    });

    it('lists tools for agents when they are configured by name', async () => {
      const { body } = await rpc(host, 'tools/list');
      const names = (at(body, 'result', 'tools') as { name: string }[]).map(({ name }) => name);
      expect(names).to.include('agents_only').and.not.include('hidden');
      expect(at((await callTool(host, 'agents_only')).body, 'result')).to.be.an('object');
    });

    it('hides a disabled tool', async () => {
      expect((await rpc(host, 'tools/list')).text).to.not.contain('switched_off');
      expect(errorOf((await callTool(host, 'switched_off')).body).reason).to.equal('UNKNOWN_TOOL');
    });

    it('hides a tool that is not visible to the caller', async () => {
      expect(errorOf((await callTool(host, 'hidden')).body).reason).to.equal('UNKNOWN_TOOL');
    });

    it('redacts and shortens names of unknown tools', async () => {
      const long = await callTool(host, 'x'.repeat(5_000));
      expect(String(errorOf(long.body).details.tool).length).to.be.at.most(128);
      const secret = await callTool(host, 'postgres://app:hunter2secret@db/x');
      expect(secret.text).to.contain('[REDACTED]').and.not.contain('hunter2secret');
    });

    const bad: readonly [args: unknown, reason: string, path: string][] = [
      [undefined, 'MISSING_REQUIRED_PARAM', '/text'],
      [{}, 'MISSING_REQUIRED_PARAM', '/text'],
      [null, 'INVALID_PARAM_TYPE', '/arguments'],
      [[], 'INVALID_PARAM_TYPE', '/arguments'],
      ['x', 'INVALID_PARAM_TYPE', '/arguments'],
      [{ text: 5 }, 'INVALID_PARAM_TYPE', '/text'],
      [{ text: '' }, 'INVALID_PARAM_VALUE', '/text'],
      [{ text: 'a', count: '5' }, 'INVALID_PARAM_TYPE', '/count'],
      [{ text: 'a', count: 0 }, 'INVALID_PARAM_VALUE', '/count'],
      [{ text: 'a', count: 1.5 }, 'INVALID_PARAM_TYPE', '/count'],
      [{ text: 'a', kind: 'c' }, 'INVALID_PARAM_VALUE', '/kind'],
      [{ text: '', count: '5' }, 'INVALID_PARAM_TYPE', '/count'],
      [{ count: '5', kind: 'c' }, 'MISSING_REQUIRED_PARAM', '/text'],
    ];
    for (const [args, reason, path] of bad) {
      it(`answers ${reason} at ${path} to ${JSON.stringify(args)}`, async () => {
        const { status, body } = await callTool(host, 'echo', args);
        expect(status).to.equal(200);
        expect(at(body, 'error', 'code')).to.equal(-32602);
        expect(errorOf(body)).to.deep.include({ reason, category: 'validation', retryable: false });
        expect(errorOf(body).details).to.include({ tool: 'echo', path });
        expect(errorOf(body).details.errors).to.be.an('array');
      });
    }

    it('ignores unknown arguments and lists them in warnings', async () => {
      const { body } = await callTool(host, 'echo', { text: 'a', colour: 'red' });
      expect(resultOf(body)).to.deep.include({ warnings: ['unknown argument: colour'] });
    });

    it('removes unknown arguments when the input schema forbids them, and adds nothing that the output schema forbids', async () => {
      const { body } = await callTool(host, 'strict', { text: 'a', colour: 'red' }, newer);
      expect(at(body, 'result', 'structuredContent')).to.deep.equal({ ok: true, got: ['text'] });
      expect(at(body, 'result', '_meta', 'io.mortise/warnings')).to.deep.equal(['unknown argument: colour']);
    });

    it('normalises arguments before it checks them, and lets the tool explain a failure', async () => {
      expect(resultOf((await callTool(host, 'old_names', { txt: 'a' })).body)).to.deep.include({ text: 'a' });
      const { body } = await callTool(host, 'old_names', {});
      expect(at(body, 'error', 'message')).to.equal('Say something (1).');
    });

    it('passes MCP content of a tool through unchanged', async () => {
      const { body } = await callTool(host, 'native');
      expect(at(body, 'result')).to.deep.include({
        content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
        structuredContent: { shown: true },
      });
    });

    it('marks a refusal as an error, but not a queued memory', async () => {
      expect(at((await callTool(host, 'refuses')).body, 'result', 'isError')).to.equal(true);
      expect(at((await callTool(host, 'queued')).body, 'result', 'isError')).not.to.equal(true);
    });

    const thrown: readonly [tool: string, code: number, reason: string, category: string, retryable: boolean][] = [
      ['breaks', -32603, 'UNHANDLED_EXCEPTION', 'internal', false],
      ['no_json', -32603, 'UNHANDLED_EXCEPTION', 'internal', false],
      ['backend_down', -32001, 'OPENMEMORY_CONNECTION_FAILED', 'dependency', true],
      ['forbidden', -32002, 'SPACE_FORBIDDEN', 'business', false],
      ['too_slow', -32000, 'TOOL_TIMEOUT', 'internal', false],
      ['needs_sampling', -32021, 'MISSING_CLIENT_CAPABILITY', 'protocol', false],
      ['only_task', -32021, 'MISSING_CLIENT_CAPABILITY', 'protocol', false],
    ];
    for (const [tool, code, reason, category, retryable] of thrown) {
      it(`answers ${code} ${reason} when ${tool} fails`, async () => {
        const { status, body, text } = await callTool(host, tool);
        expect(status).to.equal(200);
        expect(at(body, 'error', 'code')).to.equal(code);
        expect(errorOf(body)).to.deep.include({ reason, category, retryable });
        expect(text).not.to.match(/hunter2|\/srv\/|sk-abc|TypeError/);
      });
    }

    it('answers a coded error of a tool as a result that the model can react to', async () => {
      const { status, body, headers } = await callTool(host, 'declares', {}, newer);
      expect(status).to.equal(200);
      const expected = {
        ok: false,
        code: 'quota_used_up',
        message: 'Token [REDACTED] is used up.',
        hint: 'Buy more.',
        retryable: true,
        correlation_id: headers.get('x-correlation-id'),
        details: { left: 0 },
      };
      expect(at(body, 'result', 'isError')).to.equal(true);
      expect(at(body, 'result', 'structuredContent')).to.deep.equal(expected);
      expect(resultOf(body)).to.deep.equal(expected);
      const legacy = await postText(host, '{"tool":"declares"}');
      expect(legacy.body).to.deep.include({ ok: false, reason: 'TOOL_EXECUTION_FAILED', result: null });
    });

    it('answers a coded error whose details refer to themselves without them', async () => {
      const { body } = await callTool(host, 'circular', {}, newer);
      expect(resultOf(body)).to.deep.include({ ok: false, code: 'quota_used_up', message: 'No more.', details: {} });
    });

    it('names the tool whose result cannot be written, and its plugin', async () => {
      const { body } = await callTool(host, 'no_json');
      expect(at(body, 'error', 'data', 'details')).to.deep.include({ tool: 'no_json', plugin: 'probe' });
      const line = host.logs.findLast((one) => one.includes('A tool failed unexpectedly.'));
      expect(JSON.parse(line ?? '{}')).to.include({ tool: 'no_json', tool_plugin: 'probe' });
    });

    it('awaits the outcome of a call that was committed before its time limit', async () => {
      expect(resultOf((await callTool(host, 'late_commit')).body)).to.include({ ok: true, aborted: false });
    });

    it('gives a tool its caller, and continues a trace', async () => {
      const trace = 'c'.repeat(32);
      const meta = { traceparent: `00-${trace}-${'d'.repeat(16)}-01` };
      const { body, headers } = await callTool(host, 'who', {}, {}, meta);
      const id = headers.get('x-correlation-id');
      expect(resultOf(body)).to.include({ principal: 'local', caller: 'mcp', trace, correlation: id, extended: id });
    });

    it('aborts a call whose client disconnects', () => disconnectsNoticed(host, probe));

    it('lets a committed call finish after its client disconnects', async () => {
      const begun = probe.waiting();
      const controller = new AbortController();
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'commits_and_waits' },
      });
      const call = fetch(`${host.origin}/mcp`, { method: 'POST', body, signal: controller.signal }).catch(
        () => 'disconnected',
      );
      await begun;
      controller.abort();
      await call;
      const finish = probe.hold();
      await disconnectsNoticed(host, probe);
      finish();
      await until('the committed call ends', () => probe.finished.length > 0);
      expect(probe.finished).to.deep.equal(['complete']);
      expect(probe.aborted).not.to.include('commits_and_waits');
    });

    it('limits how often a principal calls a tool', async () => {
      for (let call = 0; call < 3; call += 1) expect((await callTool(host, 'noop')).status).to.equal(200);
      const { status, body, headers } = await callTool(host, 'noop');
      expect(status).to.equal(429);
      expect(Number(headers.get('retry-after'))).to.be.greaterThan(0);
      expect(at(body, 'error', 'code')).to.equal(-32001);
      expect(errorOf(body)).to.deep.include({ reason: 'RATE_LIMITED', retryable: true });
      expect(errorOf(body).details.retry_after_ms).to.be.a('number');
      const legacy = await postText(host, '{"tool":"noop"}');
      expect(legacy.status).to.equal(429);
      expect((await callTool(host, 'echo', { text: 'a' })).status).to.equal(200);
    });

    it('replies with a stream when a tool sends progress and the client accepts streams', async () => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const params = { name: 'progresses', _meta: { progressToken: 'p1' } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
      const stream = await openEvents(host, { method: 'POST', headers, body });
      expect(stream.response.headers.get('content-type')).to.contain('text/event-stream');
      for (const progress of [1, 2, 3]) {
        expect(await stream.next()).to.deep.equal({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken: 'p1', progress, total: 3, message: `step ${progress}` },
        });
      }
      expect(at(await stream.next(), 'id')).to.equal(7);
      expect(await stream.next()).to.equal(undefined);
      const plain = await callTool(host, 'progresses', {}, {}, { progressToken: 'p1' });
      expect(plain.headers.get('content-type')).to.contain('application/json');
    });

    it('replies with a stream of one message to a client that accepts only streams', async () => {
      const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      const stream = await openEvents(host, { method: 'POST', headers: { accept: 'text/event-stream' }, body });
      expect(await stream.next()).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
    });

    it('notifies all streams when tools are added and removed', async () => {
      const stream = await openEvents(host, { headers: { accept: 'text/event-stream' } });
      const names = async () =>
        (at((await rpc(host, 'tools/list')).body, 'result', 'tools') as { name: string }[]).map(({ name }) => name);
      expect(await names()).not.to.include('extra_one');
      probe.toggleExtra();
      expect(await stream.next()).to.deep.equal({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
      expect(await names()).to.include('extra_one');
      expect((await callTool(host, 'extra_one')).body).to.have.nested.property('result.content');
      probe.toggleExtra();
      await stream.next();
      expect(await names()).not.to.include('extra_one');
      stream.leave();
    });

    it('refuses GET without streams and DELETE without session', async () => {
      const get = await fetch(`${host.origin}/mcp`);
      expect([get.status, get.headers.get('allow')]).to.deep.equal([405, 'POST, DELETE, OPTIONS']);
      await get.arrayBuffer();
      const gone = await fetch(`${host.origin}/mcp`, { method: 'DELETE' });
      expect(gone.status).to.equal(400);
      expect(await gone.json()).to.include({ ok: false, reason: 'INVALID_REQUEST' });
      for (const method of ['GET', 'DELETE']) {
        const headers = { 'mcp-protocol-version': '2026-07-28', accept: 'text/event-stream' };
        const response = await fetch(`${host.origin}/mcp`, { method, headers });
        expect(response.status).to.equal(405);
        await response.arrayBuffer();
      }
    });
  });
});

describe('tools whose plugin does not run', () => {
  eachDatabase((engine) => {
    it('are listed and report that they cannot run, naming the database when it is the cause', async () => {
      const facts = { summary: 'For tests.', audience: ['mcp'], inputSchema: { type: 'object' } };
      const failing = (key: string, code: string) => ({
        manifest: { key, contributes: { tool: [{ key: `${key}_tool`, facts }] } },
        definition: () => ({
          key,
          register: () => {},
          start: () => {
            throw Object.assign(new Error('no'), { code });
          },
        }),
      });
      const host = await createTestHost({
        plugins: ['mcp-server'],
        extra: [failing('broken', 'x')],
        database: engine.env,
      });
      try {
        const { body } = await rpc(host, 'tools/list');
        expect((at(body, 'result', 'tools') as { name: string }[]).map(({ name }) => name)).to.deep.equal([
          'broken_tool',
        ]);
        const answer = await callTool(host, 'broken_tool');
        expect(answer.status).to.equal(200);
        expect(at(answer.body, 'error', 'code')).to.equal(-32603);
        expect(at(answer.body, 'error', 'data', 'reason')).to.equal('TOOL_EXECUTOR_NOT_REGISTERED');
      } finally {
        await host.stop();
      }
    });
  });
});
