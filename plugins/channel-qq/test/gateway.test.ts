import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import { defaultIntents, fallbackIntents } from '../gateway/worker.js';
import { FakeQq, status } from './fake-qq.js';

const plugins = ['agent', 'provider-demo', 'channels', 'channel-qq'];

eachDatabase((engine) => {
  describe('the websocket of QQ', () => {
    let host: TestHost;
    let platform: FakeQq;
    let ids = 0;

    before(async () => {
      host = await createTestHost({
        plugins,
        database: engine.env,
        config: { 'channel-qq': { reconnectBaseSeconds: 0.01 } },
      });
    });
    beforeEach(async () => {
      platform = await new FakeQq().open();
    });
    afterEach(async () => {
      await configure({ enabled: false });
      await platform.close();
    });
    after(() => host.stop());

    const configure = async (config: object): Promise<void> => {
      const response = await host.fetch('/config/channels/qq', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(config),
      });
      expect(response.status).to.equal(200);
    };
    const state = async () => (await (await host.fetch('/channels/qq/state')).json()) as JsonObject;
    const connected = (count = 1) =>
      until(
        `connection ${count}`,
        async () => platform.connections.length >= count && (await state()).connected === true,
      );
    const connect = async (config: object = {}) => {
      await configure({ ...platform.config, inbound_enabled: true, ...config });
      await connected();
    };
    const message = (content: string): string => {
      ids += 1;
      platform.event('C2C_MESSAGE_CREATE', { id: `ws-${ids}`, content, author: { user_openid: `W${ids}` } });
      return `ws-${ids}`;
    };
    const answered = (id: string) =>
      until(`the answer to ${id}`, () => platform.messages.some(({ body }) => body.msg_id === id));

    it('identifies, answers messages, and reports both in its state', async () => {
      await connect();
      expect(platform.framesOf(2)).to.deep.equal([
        { op: 2, d: { token: 'QQBot token-1', intents: defaultIntents, shard: [0, 1] } },
      ]);
      await answered(message('hello'));
      expect(platform.messages.map(({ body }) => body.content)).to.deep.equal(['Echo: hello']);
      const shown = await state();
      expect(shown).to.include({
        configured: true,
        running: true,
        connected: true,
        held_elsewhere: false,
        intents: defaultIntents,
        intents_source: 'default',
        gateway_url: `${platform.origin.replace('http', 'ws')}/`,
        last_event_type: 'C2C_MESSAGE_CREATE',
        last_error: '',
      });
      expect(JSON.stringify(shown)).to.not.match(/mortise-test-secret|token-1/);
      await configure({ ...platform.config, inbound_enabled: false });
      await until('the end', async () => (await state()).running === false);
      const { config, ...closed } = await state();
      expect(closed).to.include({ configured: true, connected: false, intents_source: '' });
      expect(config).to.include({ enabled: true, inbound_enabled: false });
      await configure({ ...platform.config, client_secret: '' });
      expect(await state()).to.include({ configured: false, running: false });
    });

    it('resumes a lost connection, and gets what it missed, each message once', async () => {
      await connect();
      const first = message('one');
      await answered(first);
      platform.connection?.socket.terminate();
      const missed = message('two');
      await connected(2);
      await answered(missed);
      const [frame] = platform.framesOf(6);
      expect(frame?.d).to.deep.include({ token: 'QQBot token-1', session_id: 'session-1' });
      // The platform sends both again.
      platform.event('C2C_MESSAGE_CREATE', { id: first, content: 'one', author: { user_openid: 'W' } });
      await answered(message('three'));
      expect(platform.messages.filter(({ body }) => body.msg_id === first)).to.have.length(1);
      expect((await state()).last_error).to.equal('QQ closed the connection with code 1006');
    });

    it('sends heartbeats with the last number, and reconnects when one is not acknowledged', async () => {
      platform.heartbeatMs = 20;
      await connect();
      await until('heartbeats', () => platform.framesOf(1).length >= 3);
      expect(platform.framesOf(1).at(-1)).to.deep.equal({ op: 1, d: 1 });
      platform.send({ op: 1 });
      platform.acknowledges = false;
      await until('another connection', () => platform.connections.length >= 2);
      platform.acknowledges = true;
      const count = platform.connections.length;
      await until(
        'a resumed session',
        async () => platform.connections.length >= count && (await state()).connected === true,
      );
      expect(platform.framesOf(6)).to.have.length(1);
      expect((await state()).last_error).to.equal('QQ did not acknowledge a heartbeat');
    });

    it('reconnects on request, and identifies again when its session is unknown', async () => {
      await connect();
      platform.send({ op: 7 });
      await connected(2);
      expect(platform.framesOf(6)).to.have.length(1);
      platform.forgetSession();
      platform.send({ op: 7 });
      await connected(4);
      expect(platform.framesOf(6, platform.connections[2])).to.have.length(1);
      expect(platform.framesOf(2)).to.have.length(1);
      await answered(message('after'));
    });

    it('falls back to fewer intents once, unless they are configured', async () => {
      platform.allowedIntents = fallbackIntents;
      await connect();
      expect(platform.framesOf(2, platform.connections[0])[0]?.d).to.include({ intents: defaultIntents });
      expect(await state()).to.include({ intents: fallbackIntents, intents_source: 'fallback' });
      platform.allowedIntents = 7;
      await connect({ inbound_intents: 7 });
      await until('the configured intents', async () => (await state()).intents_source === 'configured');
      await until('identify', () => platform.framesOf(2).length === 1);
      expect(platform.framesOf(2)[0]?.d).to.include({ intents: 7 });
    });

    it('requests another token when its own is no longer accepted', async () => {
      await connect();
      platform.expireTokens();
      platform.connection?.socket.close(4009);
      await connected(2);
      await answered(message('x'));
      expect(platform.tokenRequests).to.have.length(2);
    });

    it('ignores frames that it does not understand', async () => {
      await connect();
      for (const frame of [
        '',
        '{',
        '[]',
        'null',
        '{"op":"0"}',
        '{"op":99}',
        '{"op":0}',
        '{"op":10,"d":{}}',
        '{"op":10}',
      ]) {
        platform.send(frame);
      }
      platform.event('C2C_MESSAGE_CREATE', { id: 5, content: { a: 1 } });
      platform.event('GUILD_CREATE', {});
      await answered(message('still here'));
      expect(platform.connections).to.have.length(1);
      expect((await state()).last_error).to.equal('QQ sent a malformed frame');
    });

    it('reconnects while the platform is silent or broken', async () => {
      platform.script.token.push(status(400));
      platform.script.gateway.push(status(400), (response) => void response.end('{"url":"http://x/"}'));
      platform.greets = false;
      await configure({ ...platform.config, inbound_enabled: true, timeout_seconds: 0.05 });
      await until('a silent connection', () => platform.connections.length >= 2);
      expect((await state()).last_error).to.equal('QQ sent no hello in time');
      platform.greets = true;
      platform.confirms = false;
      const count = platform.connections.length;
      await until('unconfirmed ones', () => platform.connections.length >= count + 2);
      platform.confirms = true;
      await until('a connection', async () => (await state()).connected === true);
    });

    it('reconnects when the configuration changes', async () => {
      await connect();
      const other = await new FakeQq().open();
      await configure({ ...other.config, inbound_enabled: true });
      await until('the other platform', () => other.framesOf(2).length === 1);
      await until('the end of the first connection', () => platform.connection?.socket.readyState === 3);
      await configure({ enabled: false });
      await other.close();
    });
  });
});

describe('the websocket of QQ on several replicas', () => {
  it('is held by one replica', async () => {
    const platform = await new FakeQq().open();
    const first = await createTestHost({ plugins });
    const database = { MORTISE_DATABASE_FILE: join(first.dataDir, 'data', 'mortise.db') };
    const hosts = [first];
    try {
      const put = await first.fetch('/config/channels/qq', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...platform.config, inbound_enabled: true }),
      });
      expect(put.status).to.equal(200);
      const stateOf = async (host: TestHost) => (await (await host.fetch('/channels/qq/state')).json()) as JsonObject;
      await until('the first', async () => (await stateOf(first)).connected === true);
      const second = await createTestHost({ plugins, database });
      hosts.push(second);
      await until('the state of the second replica', async () => (await stateOf(second)).held_elsewhere === true);
      expect(await stateOf(second)).to.include({ configured: true, running: false });
      expect(platform.connections).to.have.length(1);
    } finally {
      for (const host of hosts.reverse()) await host.stop();
      await platform.close();
    }
  });
});
