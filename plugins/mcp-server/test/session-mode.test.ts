import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { createProbe, type Probe } from './probe-plugin.js';
import { at, beginSession, disconnectsNoticed, openEvents, postText, rpc, stateless } from './support.js';

const elicitation = { elicitation: { form: {} } };

eachDatabase((engine) => {
  describe('sessions of the MCP endpoint', () => {
    let host: TestHost;
    let probe: Probe;
    before(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
    });
    after(() => host.stop());

    const call = (
      name: string,
      headers: Record<string, string>,
      args: object = {},
      meta?: object,
      id: unknown = 7,
    ) => ({
      method: 'POST',
      headers,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name, arguments: args, ...(meta && { _meta: meta }) },
      }),
    });

    it('start, are used, and end', async () => {
      const { answer, headers } = await beginSession(host, '2025-06-18');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('mcp-session-id')).to.match(/^mcps_[0-9a-f]{32}$/);
      expect(at(answer.body, 'result')).to.deep.include({ protocolVersion: '2025-06-18' });
      expect(at(answer.body, 'result', 'serverInfo')).to.include({ name: 'mortise', title: 'Mortise Memory Gateway' });
      expect(at(answer.body, 'result', 'capabilities', 'tools')).to.deep.equal({ listChanged: true });
      expect(at(answer.body, 'result', 'capabilities')).to.have.all.keys(
        'tools',
        'logging',
        'prompts',
        'resources',
        'completions',
      );
      const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
      expect((await postText(host, initialized, headers)).status).to.equal(202);
      expect((await rpc(host, 'tools/list', undefined, headers)).status).to.equal(200);
      const end = await fetch(`${host.origin}/mcp`, { method: 'DELETE', headers });
      expect(end.status).to.equal(204);
      const late = await rpc(host, 'tools/list', undefined, headers, 'late');
      expect(late.status).to.equal(404);
      expect(late.body).to.have.property('id', 'late');
      expect(late.body).to.have.nested.property('error.code', -32600);
      expect(late.body).to.have.nested.property('error.data.reason', 'SESSION_NOT_FOUND');
      for (const method of ['GET', 'DELETE']) {
        expect((await fetch(`${host.origin}/mcp`, { method, headers })).status).to.equal(404);
      }
    });

    it('need neither params of initialize nor the end of the handshake', async () => {
      expect((await rpc(host, 'initialize')).status).to.equal(200);
      const { headers } = await beginSession(host, '2025-11-25');
      expect((await rpc(host, 'tools/list', undefined, headers)).status).to.equal(200);
    });

    it('use the newest version when the requested one is unknown', async () => {
      for (const version of ['1999-01-01', '2026-07-28', 5, null]) {
        const { body } = await rpc(host, 'initialize', { protocolVersion: version });
        expect(at(body, 'result', 'protocolVersion')).to.equal('2025-11-25');
      }
    });

    it('refuse an unknown id', async () => {
      const headers = { 'mcp-session-id': `mcps_${'0'.repeat(32)}` };
      expect((await rpc(host, 'tools/list', undefined, headers)).status).to.equal(404);
      expect((await rpc(host, 'initialize', undefined, headers)).status).to.equal(200);
    });

    it('are rows that outlive the process', async () => {
      const root = temporaryFolder('mcp');
      const options = { plugins: ['mcp-server'], dataDir: root, database: engine.env };
      const first = await createTestHost(options);
      const { headers } = await beginSession(first, '2025-06-18', elicitation);
      await first.stop();
      const second = await createTestHost(options);
      try {
        const { status } = await rpc(second, 'tools/list', undefined, headers);
        expect(status).to.equal(200);
      } finally {
        await second.stop();
      }
    });

    it('start response streams with an event to resume from, and replay what the client missed', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const begun = probe.waiting();
      const first = await openEvents(host, call('progress_and_wait', headers, {}, { progressToken: 1 }));
      const priming = await first.nextEvent();
      expect(priming?.data).to.equal(undefined);
      expect(priming?.id).to.be.a('string');
      expect(at(await first.next(), 'method')).to.equal('notifications/progress');
      await begun;
      const finish = probe.hold();
      first.leave();
      await disconnectsNoticed(host, probe);
      finish();
      const again = await openEvents(host, { headers: { ...headers, 'last-event-id': String(priming?.id) } });
      expect(at(await again.next(), 'method')).to.equal('notifications/progress');
      const answer = await again.next();
      expect(at(answer, 'id')).to.equal(7);
      expect(at(answer, 'result', 'structuredContent', 'survived')).to.equal(true);
      expect(await again.next()).to.equal(undefined);
    });

    it('let a tool end the connection of its call, whose client comes back for the result', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const begun = probe.waiting();
      const first = await openEvents(host, call('releases_and_waits', headers));
      const priming = await first.nextEvent();
      expect(await first.nextEvent()).to.equal(undefined);
      await begun;
      const again = await openEvents(host, { headers: { ...headers, 'last-event-id': String(priming?.id) } });
      probe.release();
      expect(at(await again.next(), 'result', 'structuredContent', 'released')).to.equal(true);
      expect(await again.next()).to.equal(undefined);
      const older = await beginSession(host, '2025-06-18');
      const waiting = probe.waiting();
      const whole = fetch(`${host.origin}/mcp`, call('releases_and_waits', older.headers));
      await waiting;
      probe.release();
      expect(at(await (await whole).json(), 'result', 'structuredContent', 'released')).to.equal(false);
    });

    it('start the GET stream in the same way', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const accept = { ...headers, accept: 'text/event-stream' };
      const controller = new AbortController();
      const { body } = await fetch(`${host.origin}/mcp`, { headers: accept, signal: controller.signal });
      const { value } = (await body?.pipeThrough(new TextDecoderStream()).getReader().read()) ?? {};
      expect(value).to.match(/^id: \S+\nretry: 1000\ndata: \n\n$/);
      controller.abort();
    });

    const cancel = async (headers: Record<string, string>, requestId: unknown) => {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
      return (await postText(host, body, headers)).status;
    };

    it('cancel the request named by a notification, and do not answer it', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const begun = probe.waiting();
      const running = fetch(`${host.origin}/mcp`, call('wait', headers, {}, undefined, 'mine'));
      await begun;
      const count = probe.aborted.length;
      expect(await cancel(headers, 'another')).to.equal(202);
      expect(await cancel(headers, 'mine')).to.equal(202);
      const response = await running;
      expect([response.status, await response.text()]).to.deep.equal([202, '']);
      expect(probe.aborted.length).to.equal(count + 1);
    });

    it('end the stream of a cancelled request without an answer, and leave nothing to resume', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const begun = probe.waiting();
      const stream = await openEvents(host, call('progress_and_wait', headers, {}, { progressToken: 1 }));
      await stream.nextEvent();
      const progress = await stream.nextEvent();
      await begun;
      expect(await cancel(headers, 7)).to.equal(202);
      expect(await stream.next()).to.equal(undefined);
      const again = await fetch(`${host.origin}/mcp`, {
        headers: { ...headers, 'last-event-id': String(progress?.id) },
      });
      expect(again.status).to.equal(405);
      await again.arrayBuffer();
    });

    it('ask their client while a tool runs', async () => {
      const { headers } = await beginSession(host, '2025-11-25', elicitation);
      const stream = await openEvents(host, call('asks', headers));
      await stream.nextEvent();
      const question = await stream.next();
      expect(question).to.deep.include({ method: 'elicitation/create' });
      const response = {
        jsonrpc: '2.0',
        id: at(question, 'id'),
        result: { action: 'accept', content: { name: 'Ada' } },
      };
      expect((await postText(host, JSON.stringify(response), headers)).status).to.equal(202);
      expect(at(await stream.next(), 'result', 'structuredContent', 'answer')).to.deep.equal(response.result);
    });

    it('ask only what their client declared, and accept the answer of that client only', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const refused = await postText(host, String(call('asks', headers).body), headers);
      expect(refused.body).to.have.nested.property('error.code', -32021);
      const asking = await beginSession(host, '2025-11-25', elicitation);
      const stream = await openEvents(host, call('asks', asking.headers));
      await stream.nextEvent();
      const id = at(await stream.next(), 'id');
      const answer = (result: unknown) => JSON.stringify({ jsonrpc: '2.0', id, result });
      await postText(host, answer({ action: 'decline' }), headers);
      await postText(host, answer({ action: 'accept', content: { name: 'Eve' } }), asking.headers);
      const got = at(await stream.next(), 'result', 'structuredContent', 'answer');
      expect(got).to.deep.equal({ action: 'accept', content: { name: 'Eve' } });
    });

    it('send logs to clients that set a level, from that level on', async () => {
      const { headers } = await beginSession(host, '2025-06-18');
      const silent = await postText(host, String(call('logs', headers).body), headers);
      expect(silent.headers.get('content-type')).to.contain('json');
      const set = await rpc(host, 'logging/setLevel', { level: 'warning' }, headers);
      expect(set.body).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
      const stream = await openEvents(host, call('logs', headers));
      const line = await stream.next();
      expect(line).to.deep.include({ method: 'notifications/message' });
      expect(at(line, 'params')).to.deep.equal({ level: 'warning', logger: 'mortise', data: 'something odd' });
      expect(at(await stream.next(), 'id')).to.equal(7);
      expect((await rpc(host, 'logging/setLevel', { level: 'loud' }, headers)).body).to.have.nested.property(
        'error.code',
        -32602,
      );
    });

    it('receive updates of resources they subscribed to', async () => {
      const { headers } = await beginSession(host, '2025-06-18');
      const stream = await openEvents(host, { headers });
      const subscribe = await rpc(host, 'resources/subscribe', { uri: 'probe://note' }, headers);
      expect(subscribe.body).to.deep.equal({ jsonrpc: '2.0', id: 1, result: {} });
      probe.emitUpdate('probe://other');
      probe.emitUpdate('probe://note');
      expect(await stream.next()).to.deep.equal({
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: 'probe://note' },
      });
      expect((await rpc(host, 'resources/unsubscribe', { uri: 'probe://note' }, headers)).status).to.equal(200);
      const unknown = await rpc(host, 'resources/subscribe', { uri: 'probe://numbered/1' }, headers);
      expect(unknown.body).to.have.nested.property('error.code', -32602);
      stream.leave();
    });

    it('end the streams of a session that ends', async () => {
      const { headers } = await beginSession(host, '2025-06-18');
      const stream = await openEvents(host, { headers });
      await fetch(`${host.origin}/mcp`, { method: 'DELETE', headers });
      expect(await stream.next()).to.equal(undefined);
    });

    it('do not have the methods of the stateless revision', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      for (const method of ['server/discover', 'tasks/get', 'subscriptions/listen']) {
        const { status, body } = await rpc(host, method, {}, { ...headers, accept: 'application/json' });
        expect([status, at(body, 'error', 'code')], method).to.deep.equal([200, -32601]);
      }
    });
  });
});

describe('sessions with keys', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    before(async () => {
      host = await createTestHost({
        plugins: ['mcp-server'],
        extra: [createProbe().plugin],
        database: engine.env,
        env: {
          MORTISE_API_KEYS: JSON.stringify([
            { key: 'key-of-ann-1234', id: 'ann' },
            { key: 'key-of-boss-123', id: 'boss' },
          ]),
        },
      });
    });
    after(() => host.stop());
    const ann = { authorization: 'Bearer key-of-ann-1234' };
    const boss = { authorization: 'bearer key-of-boss-123' };

    it('belong to the principal that started them', async () => {
      const { headers: sent } = await rpc(host, 'initialize', {}, ann);
      const session = { 'mcp-session-id': String(sent.get('mcp-session-id')) };
      expect((await rpc(host, 'tools/list', {}, { ...ann, ...session })).status).to.equal(200);
      expect((await rpc(host, 'tools/list', {}, { ...boss, ...session })).status).to.equal(404);
    });

    it('hide the tasks of one principal from another', async () => {
      const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
      const as = (headers: Record<string, string>) => ({ capabilities, headers });
      const made = await stateless(
        host,
        'tools/call',
        { name: 'job', arguments: { ask: true } },
        {
          capabilities: { ...capabilities, elicitation: {} },
          headers: ann,
        },
      );
      const taskId = at(made.body, 'result', 'taskId');
      expect(taskId).to.be.a('string');
      expect(at((await stateless(host, 'tasks/get', { taskId }, as(ann))).body, 'result', 'taskId')).to.equal(taskId);
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        const { body } = await stateless(host, method, { taskId, inputResponses: {} }, as(boss));
        expect(at(body, 'error', 'code'), method).to.equal(-32602);
      }
      const still = await stateless(host, 'tasks/get', { taskId }, as(ann));
      expect(at(still.body, 'result', 'status')).to.be.oneOf(['working', 'input_required']);
    });

    it('list the tools visible to each principal', async () => {
      const names = async (headers: Record<string, string>) =>
        (at((await rpc(host, 'tools/list', {}, headers)).body, 'result', 'tools') as { name: string }[]).map(
          (tool) => tool.name,
        );
      expect(await names(ann)).not.to.include('hidden');
      expect(await names(boss)).to.include('hidden');
    });

    it('need a key, but a preflight does not', async () => {
      const refused = await rpc(host, 'tools/list');
      expect(refused.status).to.equal(401);
      expect(refused.body).to.include({ ok: false, reason: 'AUTH_FAILED' });
      expect(at(refused.body, 'detail')).to.be.a('string');
      expect(refused.headers.get('access-control-allow-origin')).to.equal('*');
      const preflight = await fetch(`${host.origin}/mcp`, {
        method: 'OPTIONS',
        headers: {
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type, mcp-method',
        },
      });
      expect(preflight.status).to.equal(204);
      expect(preflight.headers.get('access-control-allow-methods')).to.equal('POST, OPTIONS');
      expect(preflight.headers.get('access-control-allow-headers')).to.equal(
        'Content-Type, Authorization, Mcp-Session-Id, mcp-method',
      );
    });

    it('refuse a foreign origin', async () => {
      const { status, headers } = await rpc(host, 'tools/list', {}, { ...ann, origin: 'http://evil.example' });
      expect(status).to.equal(403);
      expect(headers.get('access-control-allow-origin')).to.equal('*');
    });
  });
});
