import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, type Probe } from './probe-plugin.js';
import { at, openEvents, postText, stateless, statelessRequest, statelessVersion } from './support.js';

const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const asking = { elicitation: {}, roots: {} };
const versions = [statelessVersion, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const serverInfo = ['result', '_meta', 'io.modelcontextprotocol/serverInfo', 'name'] as const;

eachDatabase((engine) => {
  describe('the stateless revision', () => {
    let host: TestHost;
    let probe: Probe;
    before(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
    });
    after(() => host.stop());

    it('describes the server', async () => {
      const { status, body, headers } = await stateless(host, 'server/discover');
      expect(status).to.equal(200);
      expect(headers.get('mcp-session-id')).to.equal(null);
      expect(at(body, 'result', 'supportedVersions')).to.deep.equal(versions);
      expect(at(body, 'result')).to.deep.include({ resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'public' });
      expect(at(body, ...serverInfo)).to.equal('mortise');
      expect(at(body, 'result', 'capabilities', 'extensions')).to.deep.equal(tasks.extensions);
    });

    it('lists tools with their cache time', async () => {
      const { body } = await stateless(host, 'tools/list');
      expect(at(body, 'result')).to.deep.include({ resultType: 'complete', ttlMs: 300_000, cacheScope: 'public' });
      expect(at(body, ...serverInfo)).to.equal('mortise');
    });

    it('calls tools', async () => {
      const { body } = await stateless(host, 'tools/call', { name: 'echo', arguments: { text: 'a' } });
      expect(at(body, 'result')).to.deep.include({ resultType: 'complete' });
      expect(at(body, 'result', 'structuredContent')).to.deep.include({ echoed: { text: 'a' } });
    });

    it('refuses invalid arguments with a tool result, and calls without a tool with a protocol error', async () => {
      const call = (params: Readonly<Record<string, unknown>>) => stateless(host, 'tools/call', params);
      const { status, body, headers } = await call({ name: 'echo', arguments: { text: 5 } });
      expect(status).to.equal(200);
      expect(at(body, 'error')).to.equal(undefined);
      expect(at(body, 'result')).to.deep.include({ resultType: 'complete', isError: true });
      const result = at(body, 'result', 'structuredContent');
      expect(result).to.deep.include({
        ok: false,
        code: -32602,
        category: 'validation',
        reason: 'INVALID_PARAM_TYPE',
        retryable: false,
        correlation_id: headers.get('x-correlation-id'),
      });
      expect(at(result, 'message')).to.be.a('string').and.contain('/text');
      expect(at(result, 'details')).to.deep.include({ tool: 'echo', path: '/text' });
      expect(JSON.parse(String(at(body, 'result', 'content', 0, 'text')))).to.deep.equal(result);

      const unknown = await call({ name: 'nope' });
      expect(at(unknown.body, 'error', 'data', 'reason')).to.equal('UNKNOWN_TOOL');
      const noObject = await call({ name: 'echo', arguments: [] });
      expect(at(noObject.body, 'error', 'data')).to.deep.include({ reason: 'INVALID_PARAM_TYPE' });
      const forbidden = await call({ name: 'forbidden' });
      expect(at(forbidden.body, 'error', 'code')).to.equal(-31002);
    });

    it('answers 404 to methods of sessions', async () => {
      const removed = [
        'initialize',
        'ping',
        'logging/setLevel',
        'resources/subscribe',
        'resources/unsubscribe',
        'nope',
      ];
      for (const method of removed) {
        const { status, body } = await stateless(host, method, {}, { id: method });
        expect([status, at(body, 'error', 'code'), at(body, 'id')]).to.deep.equal([404, -32601, method]);
      }
    });

    it('refuses headers that differ from the body, with the id of the request', async () => {
      const { status, body } = await stateless(
        host,
        'tools/list',
        {},
        { headers: { 'mcp-method': 'TOOLS/LIST' }, id: 'i' },
      );
      expect([status, at(body, 'error', 'code'), at(body, 'id')]).to.deep.equal([400, -32020, 'i']);
      const bare = await postText(host, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
        'mcp-protocol-version': statelessVersion,
      });
      expect([bare.status, at(bare.body, 'error', 'code')]).to.deep.equal([400, -32602]);
      const discover = await postText(host, '{"jsonrpc":"2.0","id":1,"method":"server/discover"}');
      expect([discover.status, at(discover.body, 'error', 'code')]).to.deep.equal([400, -32020]);
    });

    it('lists the supported versions to a client with another one', async () => {
      const { status, body } = await stateless(
        host,
        'tools/list',
        {},
        {
          headers: { 'mcp-protocol-version': 'v999' },
          meta: { 'io.modelcontextprotocol/protocolVersion': 'v999' },
        },
      );
      expect([status, at(body, 'error', 'code')]).to.deep.equal([400, -32022]);
      expect(at(body, 'error', 'data', 'requested')).to.equal('v999');
      expect(at(body, 'error', 'data', 'supported')).to.deep.equal(versions);
    });

    it('compares marked arguments with their headers', async () => {
      const call = (headers: Record<string, string>) =>
        stateless(host, 'tools/call', { name: 'region', arguments: { region: 'eu' } }, { headers });
      expect((await call({ 'mcp-param-region': 'eu' })).status).to.equal(200);
      expect((await call({ 'mcp-param-region': 'us' })).body).to.have.nested.property('error.code', -32020);
      expect((await call({})).status).to.equal(400);
    });

    it('replaces the codes that this revision reserves', async () => {
      const { status, body } = await stateless(host, 'tools/call', { name: 'backend_down' });
      expect([status, at(body, 'error', 'code')]).to.deep.equal([200, -31001]);
      expect(at(body, 'error', 'data')).to.include({
        code_name: 'DEPENDENCY_UNAVAILABLE',
        reason: 'OPENMEMORY_CONNECTION_FAILED',
        retryable: true,
      });
    });

    it('names the capability that a tool needs', async () => {
      const { status, body } = await stateless(host, 'tools/call', { name: 'needs_sampling' });
      expect([status, at(body, 'error', 'code')]).to.deep.equal([400, -32021]);
      expect(at(body, 'error', 'data', 'requiredCapabilities')).to.deep.equal({ sampling: {} });
      const declared = await stateless(
        host,
        'tools/call',
        { name: 'needs_sampling' },
        { capabilities: { sampling: {} } },
      );
      expect(declared.status).to.equal(200);
    });

    it('ignores sessions', async () => {
      const headers = { 'mcp-session-id': `mcps_${'0'.repeat(32)}`, 'last-event-id': 'x' };
      expect((await stateless(host, 'tools/list', {}, { headers })).status).to.equal(200);
    });

    it('sends logs only for requests that ask for them', async () => {
      const quiet = await stateless(host, 'tools/call', { name: 'logs' });
      expect(quiet.headers.get('content-type')).to.contain('json');
      const meta = { 'io.modelcontextprotocol/logLevel': 'info' };
      const { headers, body } = statelessRequest('tools/call', { name: 'logs' }, { meta });
      const stream = await openEvents(host, { method: 'POST', headers, body });
      expect(at(await stream.next(), 'params', 'data')).to.equal('something odd');
      expect(at(await stream.next(), 'result', 'resultType')).to.equal('complete');
    });

    it('aborts a request whose stream the client closes', async () => {
      const begun = probe.waiting();
      const { headers, body } = statelessRequest('tools/call', { name: 'wait' });
      const controller = new AbortController();
      const running = fetch(`${host.origin}/mcp`, { method: 'POST', headers, body, signal: controller.signal });
      running.catch(() => {});
      await begun;
      const count = probe.aborted.length;
      controller.abort();
      await until('the tool is aborted', () => probe.aborted.length > count);
    });

    describe('prompts, resources and completions', () => {
      it('lists and gets prompts', async () => {
        const list = await stateless(host, 'prompts/list');
        expect(at(list.body, 'result', 'prompts')).to.deep.equal([
          { name: 'hello', title: 'Hello', description: 'Greets.', arguments: [{ name: 'name', required: true }] },
        ]);
        expect(at(list.body, 'result')).to.include({ ttlMs: 0, cacheScope: 'public' });
        const got = await stateless(host, 'prompts/get', { name: 'hello', arguments: { name: 'Ada' } });
        expect(at(got.body, 'result', 'messages', 0, 'content', 'text')).to.equal('Hello Ada');
        for (const params of [{ name: 'hello' }, { name: 'nope' }, { name: 'hello', arguments: { name: 5 } }]) {
          expect((await stateless(host, 'prompts/get', params)).body).to.have.nested.property('error.code', -32602);
        }
      });

      it('lists and reads resources, and names the URI of a missing one', async () => {
        const list = await stateless(host, 'resources/list');
        expect(at(list.body, 'result', 'resources', 0, 'uri')).to.equal('probe://note');
        const templates = await stateless(host, 'resources/templates/list');
        expect(at(templates.body, 'result', 'resourceTemplates', 0, 'uriTemplate')).to.equal('probe://numbered/{n}');
        for (const uri of ['probe://note', 'probe://numbered/5']) {
          const { body } = await stateless(host, 'resources/read', { uri });
          expect(at(body, 'result', 'contents', 0, 'uri')).to.equal(uri);
        }
        for (const uri of ['probe://numbered/0', 'probe://nowhere']) {
          const { body } = await stateless(host, 'resources/read', { uri });
          expect(at(body, 'error', 'code')).to.equal(-32602);
          expect(at(body, 'error', 'data', 'uri')).to.equal(uri);
        }
      });

      it('completes arguments', async () => {
        const params = { ref: { type: 'ref/prompt', name: 'hello' }, argument: { name: 'name', value: 'A' } };
        const { body } = await stateless(host, 'completion/complete', params, { headers: { 'mcp-name': '' } });
        expect(at(body, 'result', 'completion')).to.deep.equal({ values: ['Ada', 'Alan'], total: 2, hasMore: false });
        const none = { ...params, ref: { type: 'ref/prompt', name: 'nope' } };
        expect(
          at((await stateless(host, 'completion/complete', none)).body, 'result', 'completion', 'values'),
        ).to.deep.equal([]);
      });
    });

    describe('input of the client', () => {
      const call = (name: string, more: object = {}, capabilities: object = asking) =>
        stateless(host, 'tools/call', { name, arguments: {}, ...more }, { capabilities });
      const accept = (name: string) => ({ action: 'accept', content: { name } });

      it('is requested by ending the request, and read from the next one', async () => {
        const first = await call('asks');
        expect(at(first.body, 'result', 'resultType')).to.equal('input_required');
        expect(at(first.body, 'result', 'inputRequests', 'input-1', 'method')).to.equal('elicitation/create');
        const requestState = at(first.body, 'result', 'requestState');
        const second = await call('asks', { requestState, inputResponses: { 'input-1': accept('Ada'), more: {} } });
        expect(at(second.body, 'result', 'structuredContent', 'answer')).to.deep.equal(accept('Ada'));
      });

      it('is gathered over several rounds', async () => {
        const first = await call('asks_twice');
        const second = await call('asks_twice', {
          requestState: at(first.body, 'result', 'requestState'),
          inputResponses: { first: accept('Ada') },
        });
        expect(at(second.body, 'result', 'inputRequests')).to.have.all.keys('second');
        const third = await call('asks_twice', {
          requestState: at(second.body, 'result', 'requestState'),
          inputResponses: { second: accept('Bob') },
        });
        expect(at(third.body, 'result', 'structuredContent')).to.deep.include({
          first: accept('Ada'),
          second: accept('Bob'),
        });
      });

      it('is requested once for concurrent questions', async () => {
        const { body } = await call('asks_both');
        expect(at(body, 'result', 'inputRequests')).to.have.all.keys('input-1', 'input-2');
      });

      it('is requested again when an answer is missing', async () => {
        const first = await call('asks');
        const requestState = at(first.body, 'result', 'requestState');
        const again = await call('asks', { requestState, inputResponses: {} });
        expect(at(again.body, 'result', 'resultType')).to.equal('input_required');
      });

      it('is refused when its state is forged, of another call, or the answer is invalid', async () => {
        const first = await call('asks');
        const requestState = String(at(first.body, 'result', 'requestState'));
        for (const more of [
          { requestState: `${requestState}x` },
          { requestState, name: 'asks_twice' },
          { requestState, arguments: { other: 1 } },
          { requestState, inputResponses: { 'input-1': { action: 'perhaps' } } },
          { requestState, inputResponses: 5 },
        ]) {
          const { body } = await call('asks', more);
          expect(at(body, 'error', 'code'), JSON.stringify(more)).to.equal(-32602);
        }
      });

      it('is not requested from a client that did not declare it', async () => {
        const { status, body } = await call('asks', {}, {});
        expect([status, at(body, 'error', 'code')]).to.deep.equal([400, -32021]);
      });
    });

    describe('subscriptions', () => {
      const listen = (notifications: unknown) => {
        const { headers, body } = statelessRequest('subscriptions/listen', { notifications }, { id: 'sub' });
        return openEvents(host, { method: 'POST', headers, body });
      };
      const tag = ['params', '_meta', 'io.modelcontextprotocol/subscriptionId'] as const;

      it('start with the honoured filter, and send only what was requested', async () => {
        const stream = await listen({ toolsListChanged: true, resourceSubscriptions: ['probe://note'], other: true });
        const first = await stream.next();
        expect(at(first, 'method')).to.equal('notifications/subscriptions/acknowledged');
        expect(at(first, 'params', 'notifications')).to.deep.equal({
          toolsListChanged: true,
          resourceSubscriptions: ['probe://note'],
        });
        expect(at(first, ...tag)).to.equal('sub');
        probe.emitUpdate('probe://other');
        probe.emitUpdate('probe://note');
        const updated = await stream.next();
        expect([at(updated, 'params', 'uri'), at(updated, ...tag)]).to.deep.equal(['probe://note', 'sub']);
        probe.toggleExtra();
        const changed = await stream.next();
        expect([at(changed, 'method'), at(changed, ...tag)]).to.deep.equal(['notifications/tools/list_changed', 'sub']);
        stream.leave();
        probe.toggleExtra();
      });

      it('skip what was not requested', async () => {
        const stream = await listen({ resourceSubscriptions: ['probe://note'] });
        await stream.next();
        probe.toggleExtra();
        probe.toggleExtra();
        probe.emitUpdate('probe://note');
        expect(at(await stream.next(), 'method')).to.equal('notifications/resources/updated');
        stream.leave();
      });

      it('need a filter', async () => {
        for (const notifications of [undefined, 5, { resourceSubscriptions: 'x' }]) {
          const { body } = await stateless(host, 'subscriptions/listen', { notifications });
          expect(at(body, 'error', 'code')).to.equal(-32602);
        }
        const task = await stateless(host, 'subscriptions/listen', { notifications: { taskIds: ['x'] } });
        expect(at(task.body, 'error', 'code')).to.equal(-32021);
      });
    });

    describe('tasks', () => {
      const declared = { capabilities: { ...tasks, ...asking } };
      const start = async (args: object) => {
        const { body } = await stateless(host, 'tools/call', { name: 'job', arguments: args }, declared);
        expect(at(body, 'result', 'resultType')).to.equal('task');
        return String(at(body, 'result', 'taskId'));
      };
      const get = async (taskId: string) => (await stateless(host, 'tasks/get', { taskId }, declared)).body;
      const settled = async (taskId: string, status: string) => {
        await until(`task is ${status}`, async () => at(await get(taskId), 'result', 'status') === status);
        return at(await get(taskId), 'result');
      };

      it('are created for clients that support them, after their row is stored', async () => {
        const { body } = await stateless(host, 'tools/call', { name: 'job', arguments: { label: 'x' } }, declared);
        const seed = at(body, 'result') as Record<string, unknown>;
        expect(seed).to.include({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1_000 });
        expect(seed).not.to.have.any.keys('result', 'error', 'inputRequests', 'task');
        const done = await settled(String(seed.taskId), 'completed');
        expect(done).to.deep.include({ resultType: 'complete' });
        expect(at(done, 'result', 'structuredContent')).to.deep.include({ done: 'x' });
      });

      it('are not created for other clients', async () => {
        const { body } = await stateless(host, 'tools/call', { name: 'job', arguments: { label: 'x' } });
        expect(at(body, 'result', 'structuredContent')).to.deep.include({ done: 'x' });
        const only = await stateless(host, 'tools/call', { name: 'only_task' });
        expect([only.status, at(only.body, 'error', 'code')]).to.deep.equal([400, -32021]);
        for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
          const answer = await stateless(host, method, { taskId: 'x', inputResponses: {} });
          expect([answer.status, at(answer.body, 'error', 'code')], method).to.deep.equal([400, -32021]);
        }
      });

      it('check their arguments before they start', async () => {
        const { body } = await stateless(host, 'tools/call', { name: 'job', arguments: { label: 5 } }, declared);
        expect(at(body, 'result')).to.include({ resultType: 'complete', isError: true });
        expect(at(body, 'result', 'structuredContent', 'code')).to.equal(-32602);
      });

      it('end with a coded error of the tool as their result', async () => {
        const end = await settled(await start({ fail: true }), 'completed');
        expect(at(end, 'result', 'isError')).to.equal(true);
        expect(at(end, 'result', 'structuredContent')).to.include({ ok: false, code: 'quota_used_up' });
        expect(end).not.to.have.property('error');
      });

      it('end as failed with any other error of the tool', async () => {
        const end = await settled(await start({ crash: true }), 'failed');
        expect(at(end, 'error', 'code')).to.equal(-32603);
        expect(end).not.to.have.property('result');
      });

      it('are cancelled, and do not change after they end', async () => {
        const begun = probe.waiting();
        const taskId = await start({ hang: true });
        await begun;
        const cancel = await stateless(host, 'tasks/cancel', { taskId }, declared);
        expect(at(cancel.body, 'result')).to.have.all.keys('resultType', '_meta');
        await settled(taskId, 'cancelled');
        expect((await stateless(host, 'tasks/cancel', { taskId }, declared)).status).to.equal(200);
        const done = await start({ label: 'y' });
        await settled(done, 'completed');
        await stateless(host, 'tasks/cancel', { taskId: done }, declared);
        expect(at(await get(done), 'result', 'status')).to.equal('completed');
      });

      it('ask their client and continue with the answer', async () => {
        const taskId = await start({ ask: true });
        const waiting = await settled(taskId, 'input_required');
        expect(at(waiting, 'inputRequests', 'input-1', 'method')).to.equal('elicitation/create');
        const update = (inputResponses: object) =>
          stateless(host, 'tasks/update', { taskId, inputResponses }, declared);
        expect(at((await update({ 'input-1': { action: 'perhaps' } })).body, 'error', 'code')).to.equal(-32602);
        expect((await update({ unknown: { action: 'accept' } })).status).to.equal(200);
        expect(at(await get(taskId), 'result', 'status')).to.equal('input_required');
        expect((await update({ 'input-1': { action: 'decline' } })).status).to.equal(200);
        const done = await settled(taskId, 'completed');
        expect(at(done, 'result', 'structuredContent', 'answer')).to.deep.equal({ action: 'decline' });
      });

      describe('of a tool that asks before its task exists', () => {
        const begin = (args: object, more: object = {}) =>
          stateless(host, 'tools/call', { name: 'asks_first', arguments: args, ...more }, declared);
        const inputResponses = { who: { action: 'accept', content: { name: 'Ada' } } };

        it('start with the answer, without the arguments of the question', async () => {
          const asked = at((await begin({})).body, 'result') as Record<string, unknown>;
          expect(asked).to.include({ resultType: 'input_required' });
          expect(asked).not.to.have.property('taskId');
          expect(at(asked, 'inputRequests', 'who', 'method')).to.equal('elicitation/create');
          const seed = at((await begin({}, { inputResponses, requestState: asked.requestState })).body, 'result');
          expect(seed).to.include({ resultType: 'task', status: 'working' });
          expect(seed).not.to.have.any.keys('requestState', 'inputRequests');
          const done = await settled(String(at(seed, 'taskId')), 'completed');
          expect(at(done, 'result', 'structuredContent')).to.deep.include({ name: 'Ada' });
        });

        it('do not start with arguments that were invalid from the beginning', async () => {
          const { body } = await begin({ name: 5 });
          expect(at(body, 'result')).to.include({ resultType: 'complete', isError: true });
          expect(at(body, 'result', 'structuredContent')).to.include({ ok: false, reason: 'INVALID_PARAM_TYPE' });
        });

        it('fail when the tool itself makes the arguments invalid', async () => {
          const { body } = await begin({ forget: true }, { inputResponses });
          const end = await settled(String(at(body, 'result', 'taskId')), 'failed');
          expect(at(end, 'error', 'data', 'reason')).to.equal('INVALID_PARAM_TYPE');
        });

        it('are not created for clients that cannot be asked', async () => {
          const { status, body } = await stateless(host, 'tools/call', { name: 'asks_first' }, { capabilities: tasks });
          expect([status, at(body, 'error', 'code')]).to.deep.equal([400, -32021]);
        });

        it('are not used for clients without tasks, which get the result at once', async () => {
          const { body } = await stateless(host, 'tools/call', { name: 'asks_first', arguments: { name: 'Bob' } });
          expect(at(body, 'result', 'structuredContent')).to.deep.include({ name: 'Bob' });
        });
      });

      it('notify their subscribers', async () => {
        const taskId = await start({ ask: true });
        await settled(taskId, 'input_required');
        const request = statelessRequest('subscriptions/listen', { notifications: { taskIds: [taskId] } }, declared);
        const stream = await openEvents(host, { method: 'POST', headers: request.headers, body: request.body });
        expect(at(await stream.next(), 'params', 'notifications')).to.deep.equal({ taskIds: [taskId] });
        const inputResponses = { 'input-1': { action: 'accept', content: { name: 'Ada' } } };
        await stateless(host, 'tasks/update', { taskId, inputResponses }, declared);
        for (;;) {
          const result = await stream.next();
          expect(at(result, 'method')).to.equal('notifications/tasks');
          if (at(result, 'params', 'status') === 'completed') break;
        }
        stream.leave();
      });

      it('are not found by any other id', async () => {
        const { status, body } = await stateless(host, 'tasks/get', { taskId: 'task_none' }, declared);
        expect([status, at(body, 'error', 'code')]).to.deep.equal([200, -32602]);
      });
    });
  });

  describe('tasks and subscriptions when the server stops', () => {
    it('end the subscription with its result, and the task as failed for readers of the next process', async () => {
      const probe = createProbe();
      const root = await mkdtemp(join(tmpdir(), 'mortise-mcp-'));
      const options = { plugins: ['mcp-server'], extra: [probe.plugin], dataDir: root, database: engine.env };
      const first = await createTestHost(options);
      const { headers, body } = statelessRequest('subscriptions/listen', { notifications: { toolsListChanged: true } });
      const stream = await openEvents(first, { method: 'POST', headers, body });
      await stream.next();
      const begun = probe.waiting();
      const job = { name: 'job', arguments: { hang: true } };
      const started = await stateless(first, 'tools/call', job, { capabilities: tasks });
      const taskId = at(started.body, 'result', 'taskId');
      await begun;
      await first.stop();
      expect(at(await stream.next(), 'result', 'resultType')).to.equal('complete');
      const second = await createTestHost(options);
      try {
        const { body: answer } = await stateless(second, 'tasks/get', { taskId }, { capabilities: tasks });
        expect(at(answer, 'result', 'status')).to.equal('failed');
        expect(at(answer, 'result', 'error', 'code')).to.equal(-32603);
      } finally {
        await second.stop();
        await rm(root, { recursive: true, force: true });
      }
    });
  });
});
