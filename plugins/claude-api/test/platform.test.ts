import { expect } from 'chai';
import { says } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import { until } from 'mortise/sdk/testing';
import { type ClaudeHost, claudeHost, say } from './support.js';

interface Failed {
  readonly type: string;
  readonly error: { readonly type: string; readonly code: string; readonly message: string };
}

describe('the Claude-compatible API on a whole platform', () => {
  let claude: ClaudeHost;
  before(async () => {
    claude = await claudeHost({}, { plugins: ['gate', 'sessions', 'reflex'] });
  });
  after(() => claude.stop());

  const failure = async (response: Response) => {
    const { type, error } = (await response.json()) as Failed;
    expect(type).to.equal('error');
    return [response.status, error.type, error.code];
  };

  it('answers its own refusals in the shape of the API', async () => {
    const { host } = claude;
    expect(await failure(await host.fetch('/v1/nothing'))).to.deep.equal([404, 'not_found_error', 'not_found']);
    expect(await failure(await host.fetch('/v1/messages'))).to.deep.equal([405, 'api_error', 'method_not_allowed']);
    const post = (body: string, headers: Record<string, string>) =>
      host.fetch('/v1/messages', { method: 'POST', body, headers });
    const json = { 'content-type': 'application/json' };
    expect(await failure(await post('{}', { 'content-type': 'text/plain' }))).to.deep.equal([
      415,
      'api_error',
      'unsupported_media_type',
    ]);
    expect(await failure(await post('{', json))).to.deep.equal([400, 'invalid_request_error', 'invalid_json']);
    expect(await failure(await post('[]', json))).to.deep.equal([400, 'invalid_request_error', 'invalid_json']);
    expect(await failure(await post('', {}))).to.deep.equal([400, 'invalid_request_error', 'invalid_json']);
    const large = JSON.stringify({ text: 'x'.repeat(33 * 1024 * 1024) });
    expect(await failure(await post(large, json))).to.deep.equal([413, 'request_too_large', 'payload_too_large']);
    const foreign = { ...json, origin: 'http://evil.example' };
    expect(await failure(await post('{}', foreign))).to.deep.equal([403, 'permission_error', 'origin_not_allowed']);
    expect(await failure(await claude.ask(say('hi', { model: 'nope' })))).to.deep.equal([
      404,
      'not_found_error',
      'model_not_found',
    ]);
  });

  it('accepts large requests', async () => {
    claude.scripted.answer(says('ok'));
    expect((await claude.ask(say('x'.repeat(8 * 1024 * 1024)))).status).to.equal(200);
  });

  it('records an exchange once when the request names a session (A80)', async () => {
    claude.scripted.answer(says('one ', 'two'));
    const messages = [
      { role: 'user', content: 'before' },
      { role: 'assistant', content: 'answered' },
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
    ];
    for (const stream of [false, true]) {
      const sessionId = `recorded-${stream}`;
      const metadata = { session_id: sessionId, user_id: 'ada' };
      await (await claude.ask(say('', { messages, metadata, stream }))).text();
      const session = { channel: 'console', userId: 'ada', sessionId };
      const sessions = claude.host.service('sessions');
      const rows = async () => (await sessions.display({ session })).messages;
      await until('the exchange is recorded', async () => (await rows()).length === 2);
      expect((await rows()).map(({ role, content, turnStatus }) => [role, content, turnStatus])).to.deep.equal([
        ['user', 'hello', 'completed'],
        ['assistant', 'one two', 'completed'],
      ]);
      const chat = await sessions.currentChat(session);
      const turns = (await (await claude.host.fetch(`/chats/${chat?.id}/turns`)).json()) as object[];
      expect(turns).to.have.length(1);
      expect(turns[0]).to.include({ provider_id: 'scripted', model: 'm', status: 'completed' });
    }
  });

  it('refuses invalid session names', async () => {
    const response = await claude.ask(say('hi', { metadata: { session_id: 'x'.repeat(257) } }));
    expect(await failure(response)).to.deep.equal([400, 'invalid_request_error', 'invalid_request']);
  });

  it('honours the stop switches of the gate', async () => {
    const control = claude.host.service('gate-control');
    const entry = { layer: 'admin', expires_at: null, reason: null, obs_id: null } as const;
    control.updateOverrides({ drop_actors: ['mallory'] }, entry);
    const dropped = await claude.ask(say('hi', { metadata: { user_id: 'mallory' } }));
    expect(await failure(dropped)).to.deep.equal([403, 'permission_error', 'drop_actor']);
    claude.scripted.answer(says('ok'));
    expect((await claude.ask(say('hi', { metadata: { user_id: 'ada' } }))).status).to.equal(200);
    control.updateOverrides({ emergency_mode: true }, entry);
    try {
      for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
        const response = await claude.host.post(path, say('hi'));
        expect(response.headers.get('retry-after')).to.equal('5');
        expect(await failure(response)).to.deep.equal([529, 'overloaded_error', 'emergency_mode']);
      }
    } finally {
      control.removeOverride('admin', 'emergency_mode');
    }
  });
});

describe('the Claude-compatible API with a key and a provider', () => {
  it('authenticates its clients, and records what it passes through (A80)', async () => {
    const upstream = await startFakeAnthropic({ apiKey: 'sk-upstream' });
    const claude = await claudeHost(
      {},
      {
        plugins: ['provider-anthropic', 'sessions'],
        env: {
          MORTISE_API_KEY: 'k-0123456789',
          ANTHROPIC_API_KEY: 'sk-upstream',
          ANTHROPIC_BASE_URL: upstream.baseUrl,
        },
      },
    );
    try {
      const { host } = claude;
      const refused = await claude.ask(say('hi'));
      expect([refused.status, ((await refused.json()) as Failed).error.type]).to.deep.equal([
        401,
        'authentication_error',
      ]);
      for (const stream of [false, true]) {
        upstream.answer(anthropic.says('passed ', 'through'));
        const body = say('hello', { model: 'claude-x', stream, metadata: { session_id: `s-${stream}` } });
        const response = await claude.ask(body, { 'x-api-key': 'k-0123456789' });
        expect(response.status).to.equal(200);
        await response.text();
        const session = { channel: 'console', userId: 'claude-compat-user', sessionId: `s-${stream}` };
        const rows = async () => (await host.service('sessions').display({ session })).messages;
        await until('the exchange is recorded', async () => (await rows()).length === 2);
        expect((await rows()).map(({ content }) => content)).to.deep.equal(['hello', 'passed through']);
      }
    } finally {
      await claude.stop();
      await upstream.stop();
    }
  });
});
