import { createPrivateKey, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorOf } from 'mortise/contracts/agent/testing';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { readEvent } from '../inbound/read-event.js';
import { FakeQq, silence, status } from './fake-qq.js';

const secret = 'mortise-test-secret';
const plugins = ['agent', 'provider-demo', 'channels', 'channel-qq', 'gate'];
const configure = async (host: TestHost, config: object): Promise<void> => {
  const response = await host.fetch('/config/channels/qq', {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(config),
  });
  expect(response.status).to.equal(200);
};

/** A body as QQ sends and signs it. */
function signed(body: object, { at = Date.now(), key = secret }: { at?: number; key?: string } = {}) {
  const seed = Buffer.from(key.repeat(32)).subarray(0, 32);
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const timestamp = `${Math.floor(at / 1_000)}`;
  const text = JSON.stringify(body);
  const signature = sign(
    null,
    Buffer.from(timestamp + text),
    createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }),
  );
  const headers = { 'x-signature-ed25519': signature.toString('hex'), 'x-signature-timestamp': timestamp };
  return { text, headers };
}

const c2c = (id: string | undefined, content: string, extra: object = {}) => ({
  op: 0,
  t: 'C2C_MESSAGE_CREATE',
  d: { id, content, author: { user_openid: 'U1' }, ...extra },
});

describe('an event of QQ', () => {
  const read = (envelope: JsonObject) => readEvent(envelope);

  it('is read in all forms', () => {
    expect(read(c2c('m1', ' hi '))).to.deep.equal({
      id: 'm1',
      userId: 'U1',
      sessionId: 'qq:c2c:U1',
      text: 'hi',
      reply: { target_type: 'c2c', target_id: 'U1', msg_id: 'm1' },
    });
    const group = {
      t: 'GROUP_AT_MESSAGE_CREATE',
      id: 'e1',
      d: { content: 'x', group_openid: 'G', author: { member_openid: 'M' } },
    };
    expect(read(group)).to.deep.equal({
      id: 'e1',
      userId: 'M',
      sessionId: 'qq:group:G:M',
      text: 'x',
      reply: { target_type: 'group', target_id: 'G' },
    });
    const direct = {
      t: 'DIRECT_MESSAGE_CREATE',
      d: { id: 'm', content: 'x', channel_id: 'C', guild_id: 'D', author: { id: 'A' } },
    };
    expect(read(direct)).to.deep.include({
      sessionId: 'qq:guild:C:A',
      reply: { target_type: 'guild', target_id: 'C', msg_id: 'm', dm_guild_id: 'D' },
    });
    expect(read({ t: 'AT_MESSAGE_CREATE', d: { content: 'x', channel_id: 'C', guild_id: 'D' } })).to.deep.include({
      userId: 'C',
      reply: { target_type: 'guild', target_id: 'C' },
    });
    expect(read({ message_type: 'private', text: 'x', user_id: 7, session_id: 'own' })).to.deep.include({
      userId: '7',
      sessionId: 'own',
    });
    expect(read({ event: 'message', data: { target_type: 'group_at', text: 'x', group_id: 'G' } })).to.deep.include({
      sessionId: 'qq:group:G:G',
    });
  });

  it('is ignored or refused without a sender or a text to answer', () => {
    expect(read(c2c('m', ' \u0000 '))).to.equal('empty_text');
    expect(read(c2c('m', 'x', { author: { id: 'B', bot: true } }))).to.equal('bot_author');
    for (const [envelope, message] of [
      [{ t: 'GUILD_CREATE', d: { content: 'x' } }, 'unsupported qq event type'],
      [{}, 'unsupported qq event type'],
      [{ t: 'constructor', d: { message_type: 'toString' } }, 'unsupported qq event type'],
      [c2c('m', 'x', { author: null }), 'qq c2c event missing sender id'],
      [{ message_type: 'group', text: 'x' }, 'qq group event missing group_openid'],
      [{ message_type: 'guild', text: 'x' }, 'qq guild event missing channel_id'],
    ] as const) {
      expect(() => read(envelope)).to.throw(message);
    }
    expect(() => read(c2c('m', 'x', { author: { id: 'u'.repeat(200) } }))).to.throw('sender id');
  });
});

eachDatabase((engine) => {
  describe('events of QQ over HTTP', () => {
    let host: TestHost;
    let platform: FakeQq;
    let ids = 0;
    const nextId = () => {
      ids += 1;
      return `m-${ids}`;
    };

    before(async () => {
      platform = await new FakeQq().open();
      host = await createTestHost({ plugins, database: engine.env });
      await configure(host, platform.config);
    });
    beforeEach(() => platform.reset());
    after(async () => {
      await host.stop();
      await platform.close();
    });

    const post = (text: string, headers: Record<string, string> = {}) =>
      host.fetch('/channels/qq/inbound', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: text,
      });
    const postSigned = (body: object, options: { at?: number; key?: string } = {}) => {
      const { text, headers } = signed(body, options);
      return post(text, headers);
    };
    const bodyOf = async (response: Response) => (await response.json()) as JsonObject;
    const codeOf = async (response: Response) => {
      const { status: http, code } = await errorOf(response);
      return [http, code];
    };

    it('A61: answers the validation of its address', async () => {
      const d = { plain_token: 'tok-0001', event_ts: '1760000000' };
      const expected =
        '58034686366bee7b635522c6b1c24b49b16a6c06c4d52b28253a7abe9516aa3074ece3026f137e5414d68d47e59345e36a5aeb29710bc9a846f2c940887cc40f';
      const unsigned = await host.post('/channels/qq/inbound', { op: 13, d });
      expect(await bodyOf(unsigned)).to.deep.equal({ plain_token: 'tok-0001', signature: expected });
      expect(await bodyOf(await postSigned({ op: 13, d }))).to.have.property('signature', expected);
    });

    it('signs no text that could be a valid event', async () => {
      for (const d of [{ plain_token: '{"op":0}', event_ts: '1' }, { plain_token: 'x', event_ts: '1{' }, {}, null]) {
        const response = await host.post('/channels/qq/inbound', { op: 13, d });
        expect(await codeOf(response)).to.deep.equal([400, 'invalid_qq_event']);
      }
    });

    it('A62: refuses a signed event with a changed byte, an old event and an event of another bot', async () => {
      const { text, headers } = signed(c2c(nextId(), 'hello'));
      for (const request of [
        post(text.replace('hello', 'hellp'), headers),
        post(text, { ...headers, 'x-signature-ed25519': 'zz' }),
        post(text, { 'x-signature-timestamp': headers['x-signature-timestamp'] }),
        postSigned(c2c(nextId(), 'x'), { at: Date.now() - 301_000 }),
        postSigned(c2c(nextId(), 'x'), { key: 'another-secret' }),
      ]) {
        expect(await codeOf(await request)).to.deep.equal([401, 'invalid_signature']);
      }
      expect(platform.messages).to.deep.equal([]);
    });

    it('A63: answers an unsigned event from this machine with the reply, and a repeated event once', async () => {
      const event = c2c('m-local', 'hello');
      const response = await host.post('/channels/qq/inbound', event);
      const answer = await bodyOf(response);
      expect([response.status, answer.reply]).to.deep.equal([200, 'Echo: hello']);
      expect((answer.events as { type: string }[]).at(-1)?.type).to.equal('completed');
      expect(platform.messages.map(({ path, body }) => [path, body.content, body.msg_id])).to.deep.equal([
        ['/v2/users/U1/messages', 'Echo: hello', 'm-local'],
      ]);
      expect(await bodyOf(await host.post('/channels/qq/inbound', event))).to.deep.equal({
        accepted: false,
        reason: 'duplicate',
      });
      const both = await Promise.all([1, 2].map(() => host.post('/channels/qq/inbound', c2c('m-both', 'x'))));
      const reasons = (await Promise.all(both.map(bodyOf))).map(({ reason }) => reason);
      expect(reasons.filter((reason) => reason === 'duplicate')).to.have.length(1);
    });

    it('answers the same text sent twice, with different ids and without ids', async () => {
      for (const id of [nextId(), nextId(), undefined, undefined]) {
        const answer = await bodyOf(await host.post('/channels/qq/inbound', c2c(id, 'ok')));
        expect(answer)
          .to.have.property('reply')
          .that.matches(/^Echo: .*ok$/s);
      }
      expect(platform.messages).to.have.length(4);
    });

    it('acknowledges a signed event immediately and answers it once, even if QQ repeats it', async () => {
      const event = c2c(nextId(), 'signed');
      for (let repeat = 0; repeat < 3; repeat += 1) {
        expect(await bodyOf(await postSigned(event))).to.deep.equal({ op: 12 });
      }
      // The next message of the session is answered after all earlier ones.
      await postSigned(c2c(nextId(), 'next'));
      await until('the answer', () => platform.messages.some(({ body }) => String(body.content).includes('next')));
      expect(platform.messages.filter(({ body }) => body.msg_id === event.d.id)).to.have.length(1);
    });

    it('answers groups and direct messages where they were sent, in order', async () => {
      const group = (id: string, content: string) => ({
        t: 'GROUP_AT_MESSAGE_CREATE',
        d: { id, content, group_openid: 'G1', author: { member_openid: 'M1' } },
      });
      await Promise.all([postSigned(group(nextId(), 'one'))]);
      await postSigned(group(nextId(), 'two'));
      const d = { id: nextId(), content: 'x', channel_id: 'C1', guild_id: 'D1', author: { id: 'A1' } };
      await postSigned({ t: 'DIRECT_MESSAGE_CREATE', d });
      await until('three answers', () => platform.messages.length === 3);
      const sent = platform.messages.map(({ path, body }) => [path, body.msg_id]);
      expect(sent).to.deep.include(['/dms/D1/messages', d.id]);
      const toGroup = platform.messages.filter(({ path }) => path === '/v2/groups/G1/messages');
      expect(toGroup.map(({ body }) => String(body.content).split(' ').at(-1))).to.deep.equal(['one', 'two']);
    });

    it('answers an unsigned event with the events of a turn, as /agent/process does', async () => {
      const event = c2c(nextId(), 'a longer text', { author: { user_openid: 'U-events' } });
      const { events } = await bodyOf(await host.post('/channels/qq/inbound', event));
      const deltas = (events as { type: string; delta: string }[]).filter(({ type }) => type === 'assistant_delta');
      expect(deltas.map(({ delta }) => delta)).to.deep.equal(['Echo: a long', 'er text']);
    });

    it('begins a new chat on /new', async () => {
      const response = await host.post('/channels/qq/inbound', c2c(nextId(), '/new'));
      const { reply, events } = await bodyOf(response);
      expect(events).to.deep.equal([
        { type: 'step_started', step: 1 },
        { type: 'assistant_delta', step: 1, delta: reply },
        { type: 'completed', step: 1, reply, meta: {} },
      ]);
      expect(platform.messages.map(({ body }) => body.content)).to.deep.equal([reply]);
    });

    it('acknowledges signed events that are not messages, and reports why others are not accepted', async () => {
      expect(await bodyOf(await postSigned({ op: 0, t: 'GROUP_ADD_ROBOT', d: {} }))).to.deep.equal({ op: 12 });
      expect(await bodyOf(await postSigned(c2c(nextId(), ' ')))).to.deep.equal({ op: 12 });
      const answer = await host.post('/channels/qq/inbound', c2c(nextId(), ' '));
      expect(await bodyOf(answer)).to.deep.equal({ accepted: false, reason: 'empty_text' });
      expect(await codeOf(await host.post('/channels/qq/inbound', { t: 'X' }))).to.deep.equal([
        400,
        'invalid_qq_event',
      ]);
      for (const body of ['[]', 'null', '"x"', '{']) {
        const response = await post(body);
        expect(response.status, body).to.equal(400);
      }
      expect(platform.messages).to.deep.equal([]);
    });

    it('reports a failure to a waiting caller, which may then repeat the event', async () => {
      const event = c2c(nextId(), 'fails');
      platform.script.message.push(status(500), status(500));
      const failed = await host.post('/channels/qq/inbound', event);
      expect(await codeOf(failed)).to.deep.equal([502, 'channel_dispatch_failed']);
      // The turn is complete: repeating it would answer twice.
      expect(await bodyOf(await host.post('/channels/qq/inbound', event))).to.include({ reason: 'duplicate' });
    });

    it('refuses unsigned events of forwarded requests, and all unsigned events when signatures are required', async () => {
      const text = JSON.stringify(c2c(nextId(), 'x'));
      expect(await codeOf(await post(text, { 'x-forwarded-for': '10.0.0.1' }))).to.deep.equal([401, 'unauthorized']);
      await configure(host, { ...platform.config, inbound_signature: 'required' });
      expect(await codeOf(await post(text))).to.deep.equal([401, 'invalid_signature']);
      await configure(host, { ...platform.config, inbound_signature: 'off' });
      const wrong = await post(text, { 'x-signature-ed25519': 'ff', 'x-signature-timestamp': '1' });
      expect(wrong.status).to.equal(200);
      await configure(host, { ...platform.config, enabled: false });
      expect(await codeOf(await post(JSON.stringify(c2c(nextId(), 'x'))))).to.deep.equal([400, 'channel_disabled']);
      await configure(host, platform.config);
    });

    it('keeps texts and secrets out of the log', () => {
      expect(host.logs.join('')).to.not.match(/mortise-test-secret|hellp|Echo:/);
    });
  });

  it('handles an event that was acknowledged before the process ended, after the next start', async () => {
    const platform = await new FakeQq().open();
    const dataDir = await mkdtemp(join(tmpdir(), 'mortise-qq-'));
    const hosts: TestHost[] = [];
    const start = async () => {
      const host = await createTestHost({ plugins, database: engine.env, dataDir });
      hosts.push(host);
      return host;
    };
    try {
      const first = await start();
      await configure(first, platform.config);
      const { text, headers } = signed(c2c('m-crash', 'remember me'));
      platform.script.token.push(silence);
      const response = await first.fetch('/channels/qq/inbound', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: text,
      });
      expect(await response.json()).to.deep.equal({ op: 12 });
      await until('the start of the reply', () => platform.tokenRequests.length === 1);
      await first.stop(100);
      expect(platform.messages).to.deep.equal([]);
      await start();
      await until('the answer', () => platform.messages.length === 1);
      expect(platform.messages[0]?.body).to.include({ content: 'Echo: remember me', msg_id: 'm-crash' });
    } finally {
      for (const host of hosts) await host.stop();
      await platform.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});

describe('events of QQ with API keys', () => {
  let host: TestHost;
  let platform: FakeQq;

  before(async () => {
    platform = await new FakeQq().open();
    const keys = [
      { key: 'alice-key-0123456789', id: 'alice', actor: 'alice' },
      { key: 'operator-key-0123456789', id: 'operator', admin: true },
    ];
    host = await createTestHost({ plugins, env: { MORTISE_API_KEYS: JSON.stringify(keys) } });
  });
  after(async () => {
    await host.stop();
    await platform.close();
  });

  it('need a key when they are not signed, and must be from the user to whom the key is bound', async () => {
    const operator = { 'x-api-key': 'operator-key-0123456789' };
    const put = await host.fetch('/config/channels/qq', {
      method: 'PUT',
      headers: { 'content-type': 'application/json', ...operator },
      body: JSON.stringify(platform.config),
    });
    expect(put.status).to.equal(200);
    const codeOf = async (headers: Record<string, string>) =>
      (await host.post('/channels/qq/inbound', c2c('m1', 'x'), headers)).status;
    expect(await codeOf({})).to.equal(401);
    expect(await codeOf({ 'x-api-key': 'alice-key-0123456789' })).to.equal(403);
    expect(await codeOf(operator)).to.equal(200);
    const { text, headers } = signed(c2c('m2', 'signed'));
    const response = await host.fetch('/channels/qq/inbound', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    });
    expect(response.status).to.equal(200);
    await until('the answer', () => platform.messages.length === 2);
    const stateFor = async (caller: Record<string, string>) =>
      (await host.fetch('/channels/qq/state', { headers: caller })).status;
    expect(await stateFor({})).to.equal(401);
    expect(await stateFor({ 'x-api-key': 'alice-key-0123456789' })).to.equal(403);
    expect(await stateFor(operator)).to.equal(200);
  });
});
