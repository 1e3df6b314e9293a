import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, type Probe } from './probe-plugin.js';
import { at, beginSession, openEvents, postText, rpc, stateless, statelessRequest } from './support.js';

const version = '2025-11-25';
const tasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

describe('two replicas of the MCP endpoint on one PostgreSQL', () => {
  eachDatabase((engine) => {
    if (engine.dialect !== 'postgres') return;
    let one: TestHost;
    let two: TestHost;
    let probe: Probe;
    let otherProbe: Probe;
    before(async () => {
      probe = createProbe();
      otherProbe = createProbe();
      const open = (plugin: Probe['plugin']) =>
        createTestHost({ plugins: ['mcp-server'], extra: [plugin], database: engine.env });
      one = await open(probe.plugin);
      two = await open(otherProbe.plugin);
    });
    after(() => Promise.all([one, two].map((host) => host.stop())));

    /** A call on the first replica whose event stream is read. */
    const call = (headers: Record<string, string>, name: string, id: unknown = 1, meta?: object) =>
      openEvents(one, {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, _meta: meta } }),
      });

    describe('in session mode', () => {
      it('share sessions until one of them ends it', async () => {
        const { headers } = await beginSession(one, version);
        for (const host of [two, one]) expect((await rpc(host, 'tools/list', {}, headers)).status).to.equal(200);
        const ended = await fetch(`${two.origin}/mcp`, { method: 'DELETE', headers });
        expect(ended.status).to.equal(204);
        const refused = async () => (await rpc(one, 'tools/list', {}, headers)).status === 404;
        await until('the first replica forgets the session', refused);
      });

      it('apply a log level that was set on the other', async () => {
        const { headers } = await beginSession(one, version);
        await rpc(one, 'ping', {}, headers);
        await rpc(two, 'logging/setLevel', { level: 'warning' }, headers);
        await until('the first replica logs to the client', async () => {
          const { text } = await rpc(one, 'tools/call', { name: 'logs' }, headers);
          return text.includes('something odd');
        });
      });

      it('cancel a request that runs on the other', async () => {
        const { headers } = await beginSession(one, version);
        const begun = probe.waiting();
        const request = { jsonrpc: '2.0', id: 'long', method: 'tools/call', params: { name: 'wait' } };
        const answer = postText(one, JSON.stringify(request), headers);
        await begun;
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } };
        expect((await postText(two, JSON.stringify(cancel), headers)).status).to.equal(202);
        expect(await answer).to.include({ status: 202, text: '' });
      });

      for (const [what, length] of [
        ['short', 10],
        ['long', 100_000],
      ] as const) {
        it(`accept a ${what} answer of the client to a question of the other`, async () => {
          const { headers } = await beginSession(one, version, { elicitation: {} });
          const stream = await call(headers, 'asks', 7);
          let asked = await stream.next();
          while (asked === undefined) asked = await stream.next();
          const result = { action: 'accept', content: { name: 'x'.repeat(length) } };
          const response = { jsonrpc: '2.0', id: at(asked, 'id'), result };
          expect((await postText(two, JSON.stringify(response), headers)).status).to.equal(202);
          expect(at(await stream.next(), 'result', 'structuredContent', 'answer')).to.deep.equal(result);
          stream.leave();
        });
      }

      it('accept an answer to no open request', async () => {
        const { headers } = await beginSession(one, version);
        const response = { jsonrpc: '2.0', id: 'srv-000000000000000000000000', result: {} };
        for (const host of [one, two])
          expect((await postText(host, JSON.stringify(response), headers)).status).to.equal(202);
      });

      it('notify a session here of a resource that changed there', async () => {
        const { headers } = await beginSession(two, version);
        await rpc(two, 'resources/subscribe', { uri: 'probe://note' }, headers);
        const stream = await openEvents(two, { headers });
        probe.emitUpdate('probe://note');
        let message = await stream.next();
        while (message === undefined) message = await stream.next();
        expect(message).to.deep.equal({
          jsonrpc: '2.0',
          method: 'notifications/resources/updated',
          params: { uri: 'probe://note' },
        });
        stream.leave();
      });
    });

    describe('in stateless mode', () => {
      const declared = { capabilities: { ...tasks, elicitation: {} } };
      const start = async (args: object) => {
        const { body } = await stateless(one, 'tools/call', { name: 'job', arguments: args }, declared);
        return String(at(body, 'result', 'taskId'));
      };
      const seenAs = (host: TestHost, taskId: string, status: string) =>
        until(`the task is ${status}`, async () => {
          const { body } = await stateless(host, 'tasks/get', { taskId }, declared);
          return at(body, 'result', 'status') === status;
        });

      it('continue a request that the other interrupted with a question', async () => {
        const asked = (await stateless(one, 'tools/call', { name: 'asks_twice' }, declared)).body;
        const answers = { first: { action: 'decline' } };
        const params = {
          name: 'asks_twice',
          inputResponses: answers,
          requestState: at(asked, 'result', 'requestState'),
        };
        const { body } = await stateless(two, 'tools/call', params, declared);
        expect(at(body, 'result', 'inputRequests')).to.have.property('second');
      });

      it('see and cancel a task of the other', async () => {
        const begun = probe.waiting();
        const taskId = await start({ hang: true });
        await begun;
        await seenAs(two, taskId, 'working');
        expect((await stateless(two, 'tasks/cancel', { taskId }, declared)).status).to.equal(200);
        await seenAs(two, taskId, 'cancelled');
      });

      it('answer the question of a task of the other, and are notified of its end', async () => {
        const taskId = await start({ ask: true });
        await seenAs(two, taskId, 'input_required');
        const request = statelessRequest('subscriptions/listen', { notifications: { taskIds: [taskId] } }, declared);
        const stream = await openEvents(two, { method: 'POST', headers: request.headers, body: request.body });
        expect(at(await stream.next(), 'params', 'notifications')).to.deep.equal({ taskIds: [taskId] });
        const inputResponses = { 'input-1': { action: 'decline' } };
        await stateless(two, 'tasks/update', { taskId, inputResponses }, declared);
        let message = await stream.next();
        while (at(message, 'params', 'status') !== 'completed') message = await stream.next();
        expect(at(message, 'params', 'result', 'structuredContent', 'answer')).to.deep.equal({ action: 'decline' });
        stream.leave();
        await seenAs(one, taskId, 'completed');
      });

      it('notify a subscriber here, once, of a resource that changed there', async () => {
        const wanted = { notifications: { resourceSubscriptions: ['probe://note', 'probe://end'] } };
        const request = statelessRequest('subscriptions/listen', wanted, declared);
        const stream = await openEvents(one, { method: 'POST', headers: request.headers, body: request.body });
        const updated = async () => at(await stream.next(), 'params', 'uri');
        await stream.next();
        probe.emitUpdate('probe://note');
        expect(await updated()).to.equal('probe://note');
        otherProbe.emitUpdate('probe://note');
        expect(await updated()).to.equal('probe://note');
        otherProbe.emitUpdate('probe://end');
        expect(await updated()).to.equal('probe://end');
        stream.leave();
      });
    });
  });
});
