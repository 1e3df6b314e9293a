import { expect } from 'chai';
import { errorOf, user } from 'mortise/contracts/agent/testing';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { maxMessageLength, splitText } from '../send-text.js';
import { FakeQq, hangUp, silence, status } from './fake-qq.js';

describe('the split of a text', () => {
  it('keeps every line and every character, at line ends where there are any', () => {
    expect(splitText('short')).to.deep.equal(['short']);
    expect(splitText('aaa\nbbb\nccc', 8)).to.deep.equal(['aaa\nbbb', 'ccc']);
    expect(splitText('aaa\nbbb\nccc', 7)).to.deep.equal(['aaa\nbbb', 'ccc']);
    expect(splitText('aaa\nbbb\nccc', 4)).to.deep.equal(['aaa', 'bbb', 'ccc']);
    expect(splitText('abcdefgh', 3)).to.deep.equal(['abc', 'def', 'gh']);
    expect(splitText('😀😀😀', 2)).to.deep.equal(['😀😀', '😀']);
    expect(splitText('\nabc', 3)).to.deep.equal(['\nab', 'c']);
    expect(splitText(`a${'\n'.repeat(10)}b`, 4)).to.deep.equal(['a', '\nb']);
    expect(splitText(' \n ')).to.deep.equal([]);
  });
});

eachDatabase((engine) => {
  describe('sending to QQ', () => {
    let host: TestHost;
    let platform: FakeQq;
    let delivery = 0;

    before(async () => {
      platform = await new FakeQq().open();
      host = await createTestHost({
        plugins: ['agent', 'provider-demo', 'channels', 'channel-qq'],
        database: engine.env,
      });
    });
    beforeEach(() => platform.reset());
    after(async () => {
      await host.stop();
      await platform.close();
    });

    const nextDelivery = () => {
      delivery += 1;
      return `d-${delivery}`;
    };
    const send = (text: string, config: JsonObject = {}, deliveryId = nextDelivery()) =>
      host.points.call('channel', 'qq', (one, ctx) =>
        one.sendText(
          { userId: 'U1', sessionId: 's1', text, deliveryId, config: { ...platform.config, ...config } },
          ctx,
        ),
      );
    const failure = async (config: JsonObject, text = 'x'): Promise<string> => {
      try {
        await send(text, config);
      } catch (error) {
        const { code, status: http, message } = error as { code: string; status: number; message: string };
        expect([code, http]).to.deep.equal(['channel_dispatch_failed', 502]);
        return message;
      }
      throw new Error('the text was sent');
    };
    const paths = () => platform.messages.map(({ path }) => path);

    it('reaches users, groups, channels of guilds and direct messages of guilds', async () => {
      await send('a', { target_id: 'U/1' });
      await send('b', { target_type: 'group', target_id: 'G1', msg_id: 'm1' });
      await send('c', { target_type: 'guild', target_id: 'C1', msg_id: 'm1' });
      await send('d', { target_type: 'guild', target_id: 'C1', dm_guild_id: 'D1' });
      await send('e');
      expect(paths()).to.deep.equal([
        '/v2/users/U%2F1/messages',
        '/v2/groups/G1/messages',
        '/channels/C1/messages',
        '/dms/D1/messages',
        '/v2/users/U1/messages',
      ]);
      const bodies = platform.messages.map(({ body }) => body);
      expect(bodies[1]).to.deep.equal({ content: 'b', msg_type: 0, msg_seq: 1, msg_id: 'm1' });
      expect(bodies[2]).to.deep.equal({ content: 'c', msg_id: 'm1' });
      expect(bodies[3]).to.deep.equal({ content: 'd' });
      expect(platform.messages[0]?.authorization).to.match(/^QQBot token-\d+$/);
    });

    it('requests one token for concurrent messages, and another one when QQ no longer accepts it', async () => {
      await Promise.all(['a', 'b', 'c'].map((text) => send(text)));
      const before = platform.tokenRequests.length;
      expect(before).to.be.at.most(1);
      platform.expireTokens();
      await send('d');
      expect(platform.tokenRequests).to.have.length(before + 1);
      expect(platform.tokenRequests.at(-1)).to.deep.equal({ appId: 'app-1', clientSecret: 'mortise-test-secret' });
      expect(platform.messages.filter(({ body }) => body.content === 'd')).to.have.length(2);
      platform.script.message.push(status(401), status(401));
      expect(await failure({})).to.equal('qq message API returned status 401');
    });

    it('renews a token before it expires, whatever form its lifetime has', async () => {
      platform.expireTokens();
      for (const [expiresIn, requests] of [
        [0, 2],
        ['0', 2],
        ['600', 1],
        [null, 1],
        ['soon', 1],
      ] as const) {
        platform.expireTokens();
        // The token of the previous round is replaced by one that is not cached.
        platform.expiresIn = 0;
        await send('x');
        platform.reset();
        platform.expiresIn = expiresIn;
        await send('x');
        await send('x');
        expect(platform.tokenRequests, `${expiresIn}`).to.have.length(requests);
      }
    });

    it('counts the messages to each target and each answered message, also across hosts', async () => {
      const seqs = () => platform.messages.map(({ body }) => body.msg_seq);
      await send('a', { target_id: 'N1' });
      await send('b', { target_id: 'N1' });
      await send('c', { target_id: 'N2' });
      await send('d', { target_id: 'N1', msg_id: 'm1' });
      await send('e', { target_id: 'N1', msg_id: 'm1' });
      expect(seqs()).to.deep.equal([1, 2, 1, 1, 2]);
      await Promise.all(Array.from({ length: 8 }, (_, index) => send(`${index}`, { target_id: 'N3' })));
      expect(new Set(seqs().slice(5)).size).to.equal(8);
    });

    it('sends a repeated delivery with the same numbers, and succeeds when QQ already has it', async () => {
      await send('a', { target_id: 'R1' }, 'same');
      await send('a', { target_id: 'R1' }, 'same');
      await send('b', { target_id: 'R1' }, 'another');
      const [first, second, third] = platform.messages.map(({ body }) => body.msg_seq);
      expect(second).to.equal(first);
      expect(third).to.not.equal(first);
    });

    it('splits long texts into messages with rising numbers, the prefix once', async () => {
      const lines = Array.from({ length: 60 }, (_, index) => `${index} ${'好'.repeat(97)}`);
      await send(lines.join('\n'), { target_id: 'L1', bot_prefix: '[bot] ' });
      const sent = platform.messages.map(({ body }) => String(body.content));
      expect(sent.length).to.be.greaterThan(3);
      for (const one of sent) expect([...one].length).to.be.at.most(maxMessageLength);
      expect(sent.join('\n')).to.equal(`[bot] ${lines.join('\n')}`);
      expect(platform.messages.map(({ body }) => body.msg_seq)).to.deep.equal(sent.map((_, index) => index + 1));
    });

    it('retries after transient failures, with the same number', async () => {
      for (const fault of [status(503), status(429, {}, { 'retry-after': '0' }), status(502), hangUp]) {
        platform.reset();
        platform.script.message.push(fault);
        await send('x', { target_id: 'F1' });
        const [first, second, ...rest] = platform.messages;
        expect(rest).to.deep.equal([]);
        expect(second?.body).to.deep.equal(first?.body);
      }
      platform.expireTokens();
      platform.script.token.push(status(503, {}, { 'retry-after': '0' }));
      platform.script.message.push(status(401));
      await send('x');
      expect(platform.tokenRequests).to.have.length(2);
    });

    it('does not retry a message to a guild that may have arrived, because QQ detects no duplicates there', async () => {
      const guild = { target_type: 'guild', target_id: 'C1' };
      for (const fault of [status(503), hangUp]) {
        platform.reset();
        platform.script.message.push(fault);
        await failure(guild);
        expect(platform.messages).to.have.length(1);
      }
    });

    it('reports failures by status and code, without texts and secrets', async () => {
      platform.script.message.push(status(400, { code: 304_003, message: 'url not allowed: canary' }));
      expect(await failure({}, 'canary')).to.equal('qq message API returned status 400 (code 304003)');
      platform.script.message.push(silence);
      expect(await failure({ timeout_seconds: 0.1 })).to.equal('qq message API did not answer within 0.1 s');
      platform.expireTokens();
      platform.script.message.push(status(401));
      platform.script.token.push((response) => void response.writeHead(200).end('<html>'));
      expect(await failure({})).to.contain('without a token');
      expect(await failure({ client_secret: 'canary-secret' })).to.equal(
        'qq token API returned status 200 (code 100016) without a token',
      );
      expect(host.logs.join('')).to.not.contain('canary');
    });

    it('explains a configuration that cannot work', async () => {
      for (const [config, message] of [
        [{ app_id: '' }, 'channel qq requires config.app_id'],
        [{ client_secret: ' ' }, 'channel qq requires config.client_secret'],
        [{ target_type: 'group' }, 'channel qq requires config.target_id for target_type "group"'],
        [{ target_type: 'guild' }, 'channel qq requires config.target_id for target_type "guild"'],
        [{ target_id: '..' }, 'channel qq requires config.target_id to be an id of QQ'],
        [{ target_type: 'sms' }, 'channel qq requires config.target_type to be c2c, group or guild'],
        [{ api_base: 'nowhere' }, 'channel qq requires config.api_base to be an http or https URL'],
        [{ token_url: 'http://a:b@127.0.0.1/' }, 'channel qq requires config.token_url without credentials'],
      ] as const) {
        expect(await failure(config)).to.equal(message);
      }
      expect(platform.messages).to.deep.equal([]);
      for (const address of ['169.254.169.254', '[fe80::1]']) {
        const refused = await send('x', { token_url: `http://${address}/token` }).catch((error) => error.code);
        expect(refused).to.equal('network_denied');
      }
    });

    it('is a channel of the API: configured with a masked secret, and named by a turn', async () => {
      const put = (body: object) =>
        host.fetch('/config/channels/qq', {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const ask = (extra: object = {}) =>
        host.post('/agent/process', { session_id: 's1', user_id: 'U1', channel: 'qq', input: [user('hi')], ...extra });
      expect(await errorOf(await ask())).to.include({ status: 400, code: 'channel_disabled' });
      expect((await put({ ...platform.config, inbound_intents: -1 })).status).to.equal(400);
      expect((await put(platform.config)).status).to.equal(200);
      const shown = (await (await host.fetch('/config/channels/qq')).json()) as JsonObject;
      expect(shown.client_secret).to.equal('mor***ret');
      expect((await put({ ...shown, bot_prefix: '> ' })).status).to.equal(200);
      expect((await ask()).status).to.equal(200);
      const channel = { target_type: 'group', target_id: 'G9', msg_id: 'm9', api_base: 'http://169.254.169.254' };
      expect((await ask({ biz_params: { channel } })).status).to.equal(200);
      expect(platform.messages.map(({ path, body }) => [path, body.content, body.msg_id])).to.deep.equal([
        ['/v2/users/U1/messages', '> Echo: hi', undefined],
        ['/v2/groups/G9/messages', '> Echo: hi hi', 'm9'],
      ]);
    });
  });
});
