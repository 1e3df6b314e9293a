import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { errorOf, eventsOf, user } from 'mortise/contracts/agent/testing';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, localPrincipal, type TestHost, until } from 'mortise/sdk/testing';
import { hangUp, Receiver, silence, status } from './receiver.js';

describe('the webhook channel', () => {
  let host: TestHost;
  let receiver: Receiver;
  let other: Receiver;

  before(async () => {
    receiver = await new Receiver().open();
    other = await new Receiver().open();
    host = await createTestHost({
      plugins: ['agent', 'provider-demo', 'channels', 'channel-webhook', 'cron'],
    });
  });
  beforeEach(() => {
    receiver.reset();
    other.reset();
  });
  after(async () => {
    await host.stop();
    await receiver.close();
    await other.close();
  });

  const put = (config: object) =>
    host.fetch('/config/channels/webhook', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ enabled: true, url: receiver.url, ...config }),
    });
  const configure = async (config: object): Promise<void> => {
    expect((await put(config)).status).to.equal(200);
  };
  const refusalOf = async (config: object): Promise<string> => {
    const { status: code, code: name, message } = await errorOf(await put(config));
    expect([code, name]).to.deep.equal([400, 'invalid_channel_config']);
    return message;
  };
  const ask = (text: string, extra: object = {}) =>
    host.post('/agent/process', { session_id: 's1', user_id: 'u1', channel: 'webhook', input: [user(text)], ...extra });
  const failureOf = async (config: object): Promise<string> => {
    await configure(config);
    const { status: code, code: name, message } = await errorOf(await ask('x'));
    expect([code, name]).to.deep.equal([502, 'channel_dispatch_failed']);
    return message;
  };

  it('A17: is refused while it is disabled', async () => {
    await configure({ enabled: false });
    expect(await errorOf(await ask('x'))).to.include({ status: 400, code: 'channel_disabled' });
    await configure({ enabled: undefined });
    expect(await errorOf(await ask('x'))).to.include({ status: 400, code: 'channel_disabled' });
    expect(await errorOf(await ask('x', { channel: 'sms' }))).to.include({
      status: 400,
      code: 'channel_not_supported',
      message: 'channel "sms" is not supported',
    });
    expect(receiver.received).to.deep.equal([]);
  });

  it('delivers the reply of a turn, with its id as idempotency key', async () => {
    await configure({ headers: { 'X-Team': 'red', 'Idempotency-Key': 'forged' } });
    await ask('/new');
    receiver.reset();
    const response = await ask('hello');
    expect([response.status, ((await response.json()) as { reply: string }).reply]).to.deep.equal([200, 'Echo: hello']);
    const [request, ...rest] = receiver.received;
    expect(rest).to.deep.equal([]);
    expect([request?.method, request?.path]).to.deep.equal(['POST', '/replies']);
    expect(request?.headers).to.include({
      'content-type': 'application/json',
      'idempotency-key': response.headers.get('x-turn-id'),
      'x-team': 'red',
    });
    expect(request?.headers).to.not.have.any.keys('x-mortise-timestamp', 'x-mortise-signature');
    const body = JSON.parse(request?.body ?? '') as JsonObject;
    expect(body).to.have.all.keys('user_id', 'session_id', 'text', 'sent_at');
    expect(body).to.include({ user_id: 'u1', session_id: 's1', text: 'Echo: hello' });
    expect(body.sent_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('has a valid idempotency key for ids with any characters', async () => {
    const message = { userId: 'u1', sessionId: 's1', text: 'x', config: { url: receiver.url } };
    for (const deliveryId of ['每日:1', 'a b', 'a\r\nb: c', '\ud800', '!~']) {
      await host.points.call('channel', 'webhook', (one, ctx) => one.sendText({ ...message, deliveryId }, ctx));
    }
    expect(receiver.received.map(({ headers }) => headers['idempotency-key'])).to.deep.equal([
      '%E6%AF%8F%E6%97%A5%3A1',
      'a%20b',
      'a%0D%0Ab%3A%20c',
      '%EF%BF%BD',
      '!~',
    ]);
  });

  it('uses the configured method, and signs with the secret', async () => {
    const secret = 'a-long-random-secret';
    await configure({ method: 'put', secret });
    expect((await ask('你好')).status).to.equal(200);
    const [request] = receiver.received;
    const timestamp = String(request?.headers['x-mortise-timestamp']);
    const expected = createHmac('sha256', secret).update(`${timestamp}.${request?.body}`).digest('hex');
    expect(request?.headers['x-mortise-signature']).to.equal(`sha256=${expected}`);
    expect(Math.abs(Number(timestamp) - Date.now() / 1_000)).to.be.below(60);
    expect(request?.method).to.equal('PUT');
    expect(host.logs.join('')).to.not.contain(secret);
  });

  it('retries the same request after a transient status, and after a closed connection', async () => {
    for (const fault of [status(503), status(429, { 'retry-after': '0' }), status(502), status(504), hangUp]) {
      receiver.reset();
      receiver.script.push(fault);
      await configure({});
      expect((await ask('x')).status).to.equal(200);
      const [first, second, ...rest] = receiver.received;
      expect(rest).to.deep.equal([]);
      expect(second?.body).to.equal(first?.body);
      expect(second?.headers['idempotency-key']).to.equal(first?.headers['idempotency-key']);
    }
  });

  it('gives up after the configured number of retries', async () => {
    receiver.script.push(...[1, 2, 3].map(() => status(503, { 'retry-after': '0' })));
    expect(await failureOf({ max_retries: 1 })).to.equal('webhook returned status 503');
    expect(receiver.received).to.have.length(2);
  });

  it('reports any other status without a retry, and the reply stays in the chat', async () => {
    receiver.script.push(status(500));
    expect(await failureOf({})).to.equal('webhook returned status 500');
    expect(receiver.received).to.have.length(1);
    const [chat] = (await (await host.fetch('/chats?user_id=u1&channel=webhook')).json()) as { id: string }[];
    const { messages } = (await (await host.fetch(`/chats/${chat?.id}`)).json()) as { messages: { role: string }[] };
    expect(messages.at(-1)?.role).to.equal('assistant');
    receiver.script.push(status(404));
    const events = await eventsOf(await ask('y', { stream: true }));
    expect(events.slice(-3).map((event) => (event as { type?: string }).type ?? event)).to.deep.equal([
      'completed',
      'error',
      '[DONE]',
    ]);
  });

  it('ends at its time limit, and does not retry a request that may have arrived', async () => {
    receiver.script.push(silence);
    expect(await failureOf({ timeout_seconds: 0.1 })).to.equal('webhook did not answer within 0.1 s');
    expect(receiver.received).to.have.length(1);
  });

  it('reports a receiver that cannot be reached', async () => {
    const gone = await new Receiver().open();
    const { url } = gone;
    await gone.close();
    expect(await failureOf({ url, max_retries: 1 })).to.equal('webhook could not be reached');
  });

  it('follows redirects on the same host only, with method and body', async () => {
    await configure({});
    for (const code of [301, 302, 307, 308]) {
      receiver.reset();
      receiver.script.push(status(code, { location: '/moved' }));
      expect((await ask('x')).status).to.equal(200);
      const [first, second] = receiver.received;
      expect([second?.method, second?.path, second?.body]).to.deep.equal(['POST', '/moved', first?.body]);
    }
    for (const location of [other.url, `http://localhost:${receiver.port}/replies`, 'http://169.254.169.254/']) {
      receiver.script.push(status(307, { location }));
      expect(await failureOf({})).to.equal('webhook returned status 307');
    }
    expect(other.received).to.deep.equal([]);
    receiver.reset();
    receiver.script.push(...Array.from({ length: 9 }, () => status(307, { location: '/again' })));
    expect(await failureOf({})).to.equal('webhook returned status 307');
    expect(receiver.received).to.have.length(4);
  });

  it('refuses link-local addresses and metadata services', async () => {
    for (const address of ['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]', '100.100.100.200']) {
      expect(await refusalOf({ url: `http://${address}/latest` }), address).to.contain('may not be reached');
    }
    receiver.script.push(status(307, { location: 'http://169.254.169.254/latest' }));
    expect(await failureOf({})).to.equal('webhook returned status 307');
  });

  it('delivers the text of a schedule without a model, and its failure fails the run', async () => {
    await configure({});
    const job = {
      id: 'news',
      name: 'news',
      enabled: false,
      task_type: 'text',
      schedule: { type: 'interval', cron: '1h' },
      text: 'hi',
      dispatch: { channel: 'webhook', target: { user_id: 'u1', session_id: 's1' } },
    };
    expect((await host.post('/cron/jobs', job)).status).to.equal(200);
    expect((await host.post('/cron/jobs/news/run', {})).status).to.equal(200);
    const sent = receiver.received.map(({ body }) => JSON.parse(body) as JsonObject);
    expect(sent).to.have.length(1);
    expect(sent[0]).to.include({ user_id: 'u1', session_id: 's1', text: 'hi' });
    receiver.script.push(status(500));
    expect(await errorOf(await host.post('/cron/jobs/news/run', {}))).to.include({
      status: 500,
      code: 'cron_run_failed',
      message: 'failed to dispatch cron job to channel "webhook": webhook returned status 500',
    });
  });

  it('delivers what an agent says in a session without a waiting caller', async () => {
    await configure({});
    const published = host.service('conversation').publish(
      {
        source_name: 'agent:speaker',
        source_kind: 'internal',
        ingress: 'internal',
        session_key: 'webhook:u1:s1',
        actor: { actor_type: 'system', actor_id: 'agent' },
        payload: { text: 'good morning' },
        metadata: { direction: 'outbound' },
      },
      { principal: localPrincipal },
    );
    await until('the text to arrive', () => receiver.received.length === 1);
    const [request] = receiver.received;
    expect(JSON.parse(request?.body ?? '')).to.include({ user_id: 'u1', session_id: 's1', text: 'good morning' });
    expect(request?.headers['idempotency-key']).to.equal(published.ok ? published.observation.obs_id : '');
  });

  it('refuses to store a configuration that cannot work, without quoting secrets', async () => {
    for (const [config, member] of [
      [{ url: 'not a url' }, 'config.url'],
      [{ url: 'file:///etc/passwd' }, 'config.url'],
      [{ url: 'http://user:pass-word@127.0.0.1/' }, 'config.url'],
      [{ enabled: false, url: 'ftp://example.com' }, 'config.url'],
      [{ method: 'GET' }, 'config.method'],
      [{ headers: { 'a b': 'c' } }, 'config.headers'],
      [{ headers: { authorization: 'canary\r\nx: y' } }, 'config.headers'],
    ] as const) {
      const message = await refusalOf(config);
      expect(message).to.contain(member);
      expect(message).to.not.match(/pass-word|canary/);
    }
    expect(receiver.received).to.deep.equal([]);
  });

  it('reports a missing URL only in the turn, because it may be set later', async () => {
    expect(await failureOf({ url: '' })).to.equal('channel webhook requires config.url');
    expect(await failureOf({ url: undefined })).to.equal('channel webhook requires config.url');
  });
});
