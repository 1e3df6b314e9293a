import { Agent, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { createProbe, type Probe } from './probe-plugin.js';
import { at, beginSession, openEvents } from './support.js';

/** Posts a message over a kept connection. */
function postOver(agent: Agent, origin: string, message: unknown): Promise<{ status?: number; body: unknown }> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}/mcp`, { agent, method: 'POST', headers }, async (response) => {
      try {
        resolve({ status: response.statusCode, body: await json(response) });
      } catch (error) {
        reject(error);
      }
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(message));
  });
}

eachDatabase((engine) => {
  describe('the MCP endpoint of a server that stops', () => {
    let host: TestHost;
    let probe: Probe;
    beforeEach(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
    });
    afterEach(() => host.stop());

    /** A call that has sent progress and waits, with the next message of its stream as a promise. */
    const beginCall = async (headers: Record<string, string>) => {
      const begun = probe.waiting();
      const params = { name: 'progress_and_wait', arguments: {}, _meta: { progressToken: 1 } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
      const stream = await openEvents(host, { method: 'POST', headers, body });
      await stream.nextEvent();
      expect(at(await stream.next(), 'method')).to.equal('notifications/progress');
      await begun;
      return stream;
    };

    it('delivers the answers of calls that are streamed over a session, and ends only the GET stream', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const standing = await openEvents(host, { headers });
      await standing.nextEvent();
      const stream = await beginCall(headers);
      const stopped = host.stop(10_000);
      expect(await standing.next()).to.equal(undefined);
      probe.release();
      const answer = await stream.next();
      expect(at(answer, 'id')).to.equal(7);
      expect(at(answer, 'result', 'structuredContent', 'survived')).to.equal(true);
      expect(await stream.next()).to.equal(undefined);
      await stopped;
    });

    it('is disabled without waiting for clients that only listen, and answers the calls that run', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const standing = await host.fetch('/mcp', { headers });
      const oldTransport = await host.fetch('/mcp', { headers: { accept: 'text/event-stream' } });
      const stream = await beginCall(headers);
      const disabled = host.app.control.disable('mcp-server');
      const last = /event: error\ndata: \{"code":"plugin_stopping",.*\}\n\n$/;
      expect(await standing.text()).to.match(last);
      expect(await oldTransport.text())
        .to.match(/^event: endpoint\n/)
        .and.to.match(last);
      probe.release();
      expect(at(await stream.next(), 'id')).to.equal(7);
      expect((await disabled).state).to.equal('disabled');
    });

    it('answers requests that arrive during the shutdown with a JSON-RPC error', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const stream = await beginCall(headers);
      // A connection that is open before the stop: afterwards the server accepts none.
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const ping = { jsonrpc: '2.0', id: 8, method: 'ping' };
      expect((await postOver(agent, host.origin, ping)).status).to.equal(200);
      const stopped = host.stop(10_000);
      const refused = await postOver(agent, host.origin, ping);
      expect(refused.status).to.equal(503);
      expect(at(refused.body, 'jsonrpc')).to.equal('2.0');
      expect(at(refused.body, 'error', 'code')).to.equal(-32001);
      expect(at(refused.body, 'error', 'data', 'reason')).to.equal('SHUTTING_DOWN');
      expect(at(refused.body, 'error', 'data', 'retryable')).to.equal(true);
      probe.release();
      expect(at(await stream.next(), 'id')).to.equal(7);
      await stopped;
    });

    it('answers with an error the streamed calls that do not finish in time', async () => {
      const { headers } = await beginSession(host, '2025-11-25');
      const stream = await beginCall(headers);
      const stopped = host.stop(2_000);
      const answer = await stream.next();
      expect(at(answer, 'id')).to.equal(7);
      expect(at(answer, 'error', 'message')).to.equal('The server is stopping.');
      expect(await stream.next()).to.equal(undefined);
      await stopped;
    });
  });
});
