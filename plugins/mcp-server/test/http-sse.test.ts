import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, type Probe } from './probe-plugin.js';
import { at, disconnectsNoticed, rawEvents } from './support.js';

type HeaderList = Readonly<Record<string, string>>;

/** A client of revision 2024-11-05, as its specification describes it. */
async function connect(host: TestHost, headers: HeaderList = {}) {
  const controller = new AbortController();
  const response = await fetch(`${host.origin}/mcp`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: controller.signal,
  });
  const iterator = rawEvents(response);
  const nextEvent = async () => {
    const { value, done } = await iterator.next();
    return done ? undefined : value;
  };
  const first = await nextEvent();
  const address = new URL(String(first?.data), host.origin);
  const post = (message: object, as: HeaderList = headers) =>
    fetch(address, {
      method: 'POST',
      headers: { ...as, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  return {
    response,
    first,
    nextEvent,
    post,
    /** The next message; undefined at the end of the stream. */
    async next(): Promise<unknown> {
      const event = await nextEvent();
      return event && JSON.parse(event.data);
    },
    async initialize(capabilities: object = {}) {
      const clientInfo = { name: 'test', version: '1' };
      await post({ id: 0, method: 'initialize', params: { protocolVersion: '2024-11-05', capabilities, clientInfo } });
      return nextEvent();
    },
    call: (name: string, id: unknown = 7, meta?: object) =>
      post({ id, method: 'tools/call', params: { name, arguments: {}, ...(meta && { _meta: meta }) } }),
    leave: () => controller.abort(),
  };
}

eachDatabase((engine) => {
  describe('the HTTP+SSE transport', () => {
    let host: TestHost;
    let probe: Probe;
    before(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
    });
    after(() => host.stop());

    it('sends the address for messages first, and every response on the stream', async () => {
      const client = await connect(host);
      expect(client.response.headers.get('content-type')).to.contain('text/event-stream');
      expect(client.first?.event).to.equal('endpoint');
      expect(client.first?.data).to.match(/^\/mcp\?sessionId=sse_[0-9a-f]{32}$/);
      const posted = await client.post({ id: 'one', method: 'ping' });
      expect([posted.status, await posted.text()]).to.deep.equal([202, '']);
      expect(await client.next()).to.deep.equal({ jsonrpc: '2.0', id: 'one', result: {} });
      const started = JSON.parse(String((await client.initialize())?.data));
      expect(at(started, 'result', 'protocolVersion')).to.equal('2024-11-05');
      expect((await client.post({ method: 'notifications/initialized' })).status).to.equal(202);
      await client.post({ id: 2, method: 'tools/nope' });
      expect(at(await client.next(), 'error', 'code')).to.equal(-32601);
      client.leave();
    });

    it('serves clients that name a protocol version, and no client of the stateless revision', async () => {
      const client = await connect(host, { 'mcp-protocol-version': '2025-11-25' });
      expect(client.first?.event).to.equal('endpoint');
      client.leave();
      const others: readonly HeaderList[] = [
        { accept: 'application/json' },
        { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' },
      ];
      for (const headers of others) {
        const refused = await fetch(`${host.origin}/mcp`, { headers: { ...headers } });
        expect(refused.status).to.equal(405);
        await refused.arrayBuffer();
      }
    });

    it('runs several requests at once, with progress, and answers questions of a tool', async () => {
      const client = await connect(host);
      await client.initialize({ elicitation: { form: {} } });
      const begun = probe.waiting();
      await client.call('progress_and_wait', 'slow', { progressToken: 'p' });
      await begun;
      expect(at(await client.next(), 'params', 'progressToken')).to.equal('p');
      await client.call('asks', 'asking');
      const question = await client.next();
      expect(question).to.deep.include({ method: 'elicitation/create' });
      const answer = { action: 'accept', content: { name: 'Ada' } };
      expect((await client.post({ id: at(question, 'id'), result: answer })).status).to.equal(202);
      const asked = await client.next();
      expect(at(asked, 'id')).to.equal('asking');
      expect(String(at(asked, 'result', 'content', 0, 'text'))).to.contain('"name":"Ada"');
      probe.release();
      expect(at(await client.next(), 'id')).to.equal('slow');
      client.leave();
    });

    it('does not answer a request that the client cancels', async () => {
      const client = await connect(host);
      const begun = probe.waiting();
      await client.call('wait', 'mine');
      await begun;
      const count = probe.aborted.length;
      await client.post({ method: 'notifications/cancelled', params: { requestId: 'another' } });
      await client.post({ method: 'notifications/cancelled', params: { requestId: 'mine' } });
      await until('the call is aborted', () => probe.aborted.length > count);
      await client.post({ id: 2, method: 'ping' });
      expect(at(await client.next(), 'id')).to.equal(2);
      client.leave();
    });

    it('aborts what runs for a client that leaves, and refuses its address from then on', async () => {
      const client = await connect(host);
      const begun = probe.waiting();
      await client.call('wait');
      await begun;
      const count = probe.aborted.length;
      client.leave();
      await until('the call is aborted', () => probe.aborted.length > count);
      const late = await client.post({ id: 1, method: 'ping' });
      expect(late.status).to.equal(404);
      expect(at(await late.json(), 'reason')).to.equal('SESSION_NOT_FOUND');
    });

    it('announces changed lists, logs and subscribed resources', async () => {
      const client = await connect(host);
      await client.initialize();
      probe.toggleExtra();
      expect(at(await client.next(), 'method')).to.equal('notifications/tools/list_changed');
      await client.post({ id: 1, method: 'logging/setLevel', params: { level: 'warning' } });
      expect(at(await client.next(), 'id')).to.equal(1);
      await client.call('logs');
      expect(at(await client.next(), 'params', 'data')).to.equal('something odd');
      expect(at(await client.next(), 'id')).to.equal(7);
      await client.post({ id: 2, method: 'resources/subscribe', params: { uri: 'probe://note' } });
      expect(at(await client.next(), 'id')).to.equal(2);
      probe.emitUpdate('probe://other');
      probe.emitUpdate('probe://note');
      expect(at(await client.next(), 'params', 'uri')).to.equal('probe://note');
      client.leave();
    });

    it('continues the session of a client that reconnects', async () => {
      const first = await connect(host);
      const started = await first.initialize({ elicitation: { form: {} } });
      expect(started?.id).to.match(/^mcps_/);
      first.leave();
      await disconnectsNoticed(host, probe);
      const again = await connect(host, {
        'last-event-id': String(started?.id),
        'mcp-protocol-version': '2025-11-25',
      });
      expect(again.first?.event).to.equal('endpoint');
      await again.call('asks');
      expect(await again.next()).to.deep.include({ method: 'elicitation/create' });
      again.leave();
    });

    it('refuses a body that is not one message, and requests beyond its limit of concurrent ones', async () => {
      const client = await connect(host);
      const post = async (body: string) => {
        const response = await fetch(new URL(String(client.first?.data), host.origin), { method: 'POST', body });
        await response.arrayBuffer();
        return response.status;
      };
      for (const body of ['', '{', '[]', '5', '{"tool":"echo"}', '{"jsonrpc":"2.0","id":1}']) {
        expect(await post(body), body).to.equal(400);
      }
      for (let n = 0; n < 100; n += 1) expect((await client.call('wait', n)).status).to.equal(202);
      const refused = await client.call('wait', 100);
      expect([refused.status, at(await refused.json(), 'reason')]).to.deep.equal([429, 'RATE_LIMITED']);
      client.leave();
    });
  });

  describe('the HTTP+SSE transport of a server with keys', () => {
    const ann = { authorization: 'Bearer key-of-ann-1234' };
    const boss = { authorization: 'Bearer key-of-boss-123' };
    let host: TestHost;
    before(async () => {
      const keys = [
        { key: 'key-of-ann-1234', id: 'ann' },
        { key: 'key-of-boss-123', id: 'boss' },
      ];
      const env = { MORTISE_API_KEYS: JSON.stringify(keys) };
      host = await createTestHost({
        plugins: ['mcp-server'],
        extra: [createProbe().plugin],
        database: engine.env,
        env,
      });
    });
    after(() => host.stop());

    it('binds the address and the session to the principal of the stream', async () => {
      const client = await connect(host, ann);
      const started = await client.initialize();
      expect((await client.post({ id: 1, method: 'ping' }, boss)).status).to.equal(404);
      expect((await client.post({ id: 1, method: 'ping' }, {})).status).to.equal(401);
      await client.call('who');
      expect(String(at(await client.next(), 'result', 'content', 0, 'text'))).to.contain('"principal":"ann"');
      const other = await connect(host, { ...boss, 'last-event-id': String(started?.id) });
      expect(other.first?.id).to.equal(undefined);
      other.leave();
      client.leave();
    });
  });

  describe('the HTTP+SSE transport of a server that stops', () => {
    let host: TestHost;
    let probe: Probe;
    beforeEach(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
    });
    afterEach(() => host.stop());

    const beginCall = async () => {
      const client = await connect(host);
      const begun = probe.waiting();
      await client.call('wait');
      await begun;
      return client;
    };

    it('delivers the answers of running calls, and ends idle streams at once', async () => {
      const idle = await connect(host);
      const client = await beginCall();
      const stopped = host.stop(10_000);
      expect(await idle.next()).to.equal(undefined);
      probe.release();
      expect(String(at(await client.next(), 'result', 'content', 0, 'text'))).to.contain('"ok":true');
      expect(await client.next()).to.equal(undefined);
      await stopped;
    });

    it('answers with an error the calls that do not finish in time', async () => {
      const client = await beginCall();
      const stopped = host.stop(2_000);
      expect(at(await client.next(), 'error', 'message')).to.equal('The server is stopping.');
      expect(await client.next()).to.equal(undefined);
      await stopped;
    });
  });
});
