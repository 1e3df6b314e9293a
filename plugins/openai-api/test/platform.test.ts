import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { calls, says } from 'mortise/contracts/models/testing';
import { until } from 'mortise/sdk/testing';
import { type OpenAiHost, openAiHost, say } from './support.js';

describe('the OpenAI-compatible API on a whole platform', () => {
  let openai: OpenAiHost;
  before(async () => {
    openai = await openAiHost({}, { plugins: ['gate', 'sessions'] });
  });
  after(() => openai.stop());

  it('records an exchange once, with its tools, when the request names a session (A80)', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }];
    const metadata = { session_id: 's1', user_id: 'ada' };
    const first = [{ role: 'user', content: 'hello' }];
    const second = [
      ...first,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
    ];
    openai.scripted.answer(calls(['c1', 'f', '{}']), says('done'));
    for (const messages of [first, second]) await (await openai.chat(say('', { messages, tools, metadata }))).text();
    const session = { channel: 'console', userId: 'ada', sessionId: 's1' };
    const rows = async () => (await openai.host.service('sessions').display({ session })).messages;
    await until('the exchange is recorded', async () => (await rows()).length > 0);
    expect((await rows()).map(({ role, content }) => [role, content])).to.deep.equal([
      ['user', 'hello'],
      ['assistant', 'done'],
    ]);
  });

  it('honours the stop switches of the gate', async () => {
    const control = openai.host.service('gate-control');
    const entry = { layer: 'admin', expires_at: null, reason: null, obs_id: null } as const;
    control.updateOverrides({ drop_actors: ['mallory'] }, entry);
    const errorOf = async (response: Response) => {
      const { error } = (await response.json()) as { error: { type: string; code: string } };
      return [response.status, error.type, error.code];
    };
    const dropped = [403, 'permission_error', 'drop_actor'];
    expect(await errorOf(await openai.chat(say('hi', { user: 'mallory' })))).to.deep.equal(dropped);
    expect(await errorOf(await openai.respond({ model: 'scripted/m', input: 'hi', user: 'mallory' }))).to.deep.equal(
      dropped,
    );
    control.updateOverrides({ emergency_mode: true }, entry);
    const stopped = await openai.chat(say('hi'));
    expect(stopped.headers.get('retry-after')).to.equal('5');
    expect(await errorOf(stopped)).to.deep.equal([529, 'server_error', 'emergency_mode']);
  });
});

describe('the limits of a platform', () => {
  it('are refusals in the shape of the API', async () => {
    const openai = await openAiHost({}, { env: { MORTISE_RATE_LIMIT: '2/60' } });
    try {
      const body = { ...say('hi'), model: 'demo/demo-chat' };
      const foreign = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
        const request = httpRequest(`${openai.host.origin}/v1/models`, { headers: { host: 'evil.example' } });
        request.on('error', reject).on('response', (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () => resolve({ status: response.statusCode, text }));
        });
        request.end();
      });
      expect(foreign.status).to.equal(403);
      expect(JSON.parse(foreign.text)).to.have.nested.include({
        'error.type': 'permission_error',
        'error.code': 'host_not_allowed',
      });
      for (const expected of [200, 200, 429]) {
        const response = await openai.chat(body);
        expect(response.status).to.equal(expected);
        if (expected === 200) continue;
        expect(response.headers.get('retry-after')).to.match(/^\d+$/);
        expect(((await response.json()) as { error: object }).error).to.include({
          type: 'rate_limit_error',
          code: 'rate_limited',
        });
      }
    } finally {
      await openai.stop();
    }
  });
});

describe('a principal that is bound to a user', () => {
  it('records exchanges of this user only', async () => {
    const key = 'k-ada-0123456789';
    const principals = JSON.stringify([{ id: 'p1', key, actor: 'ada' }]);
    const openai = await openAiHost({}, { plugins: ['sessions'], env: { MORTISE_API_KEYS: principals } });
    try {
      const headers = { authorization: `Bearer ${key}` };
      openai.scripted.answer(says('ok'));
      const other = await openai.chat(say('hi', { metadata: { session_id: 's', user_id: 'eve' } }), headers);
      expect(other.status).to.equal(403);
      expect((await openai.chat(say('hi', { metadata: { session_id: 's' } }), headers)).status).to.equal(200);
      const session = { channel: 'console', userId: 'ada', sessionId: 's' };
      const rows = async () => (await openai.host.service('sessions').display({ session })).messages;
      await until('the exchange is recorded', async () => (await rows()).length === 2);
    } finally {
      await openai.stop();
    }
  });
});
