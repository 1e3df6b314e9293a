import { expect } from 'chai';
import { asksFor, fakeModel, says } from 'mortise/contracts/agent/testing';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

const keys = [
  { key: 'alice-key-0123456789', id: 'alice-laptop', actor: 'alice' },
  { key: 'mallory-key-0123456789', id: 'mallory', actor: 'mallory', spaces: [] },
  { key: 'bot-key-0123456789abc', id: 'bot', spaces: ['team:ci'] },
  { key: 'operator-key-0123456789', id: 'operator', admin: true },
];
const keyOf = (id: string) => ({ 'x-api-key': keys.find((one) => one.id === id)?.key ?? '' });

/** Calls the tool that a message names: `call <tool> <arguments>`. */
const toolCaller = () =>
  fakeModel(({ messages }) => {
    const last = messages.at(-1);
    const call = last?.role === 'user' ? /^call (\w+) (.*)$/su.exec(String(last.content)) : null;
    return call ? asksFor([['c1', call[1] ?? '', call[2] ?? '']]) : says('ok');
  });

describe('principals', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let model: ReturnType<typeof fakeModel>;

    beforeEach(async () => {
      model = toolCaller();
      host = await createTestHost({
        plugins: ['agent', 'channel-console', 'gate', 'reflex', 'memory-gateway', 'memory-backend-local'],
        env: { MORTISE_API_KEYS: JSON.stringify(keys), MORTISE_GATE_PERSISTENCE: 'sql' },
        database: engine.env,
        extra: [model.plugin],
      });
      const policy = { require_evidence: false };
      await host
        .service('logbook')
        .settings.update('default', { teamWriteEnabled: true, policy }, { updatedBy: 'test' });
    });

    afterEach(async function stop() {
      await host.stop();
    });

    async function post(path: string, body: unknown, id: string) {
      const answer = await host.post(path, body, keyOf(id));
      return { status: answer.status, body: (await answer.json()) as Json & { readonly error: Json } };
    }
    const observe = (id: string, body: Json) =>
      post('/observations?wait=decision', { source_name: 'shop', ...body }, id);
    const messageOf = (user: string, text: string, more: Json = {}) => ({
      actor: { actor_type: 'user', actor_id: user },
      payload: { text },
      ...more,
    });
    const get = async (path: string, id: string) => (await host.fetch(path, { headers: keyOf(id) })).text();
    /** Tool results in the requests to the model. */
    const results = () =>
      model.requests.flatMap(({ messages }) => messages.slice(-1).filter(({ role }) => role === 'tool'));
    const lastResult = () => String(results().at(-1)?.content);

    it('of an observation apply to every tool call and audit row that it causes', async () => {
      const store = (space: string, text: string) =>
        `call memory_store ${JSON.stringify({ payload_md: text, target_space: space })}`;
      await observe('alice-laptop', messageOf('alice', store('private:alice', 'The walrus of alice.')));
      await until('the answer to alice', () => results().length === 1);
      await observe('mallory', messageOf('mallory', store('private:alice', 'Planted.')));
      await until('the answer to mallory', () => results().length === 2);
      const query = { query: 'walrus', spaces: ['private:alice'] };
      await observe('mallory', messageOf('mallory', `call memory_query ${JSON.stringify(query)}`));
      await until('the second answer to mallory', () => results().length === 3);
      expect(lastResult()).to.not.include('The walrus');
      const { rows } = await host.service('audit').query({});
      const audited = rows.filter(({ operation }) => !String(operation).startsWith('settings')).reverse();
      expect(audited.map(({ principal, action }) => `${principal} ${action}`)).to.deep.equal([
        'alice-laptop allow',
        'mallory reject',
        'mallory reject',
      ]);
    });

    for (const [what, body] of [
      ['a session of another user', messageOf('mallory', 'hi', { session_key: 'console:alice:s1' })],
      ['a socket session of another user', messageOf('mallory', 'hi', { session_key: 'ws:alice:main' })],
      ['another user', messageOf('alice', 'hi')],
      ['another user in the metadata', messageOf('mallory', 'hi', { metadata: { user_id: 'alice' } })],
      [
        'a session of another user in an alert',
        {
          obs_type: 'alert',
          actor: { actor_type: 'user', actor_id: 'mallory' },
          payload: { alert_type: 'pain', severity: 'high', message: 'it hurts' },
          session_key: 'console:alice:s1',
        },
      ],
    ] as const) {
      it(`bound to a user cannot name ${what}`, async () => {
        const answer = await observe('mallory', body);
        expect([answer.status, answer.body.error?.code]).to.deep.equal([403, 'actor_mismatch']);
      });
    }

    it('bound only to spaces act as a user of their own name', async () => {
      const foreign = await observe('bot', { payload: { text: 'hi' }, session_key: 'console:alice:s1' });
      expect([foreign.status, foreign.body.error?.code]).to.deep.equal([403, 'actor_mismatch']);
      expect((await observe('bot', { payload: { text: 'hi' }, session_key: 'build' })).status).to.equal(202);
      expect(await get('/gate/sessions', 'bot')).to.include('console:bot:build');
    });

    it('have separate event ids', async () => {
      const event = { evidence: { raw_event_id: 'e1' } };
      const first = await observe('alice-laptop', messageOf('alice', 'one', event));
      const second = await observe('mallory', messageOf('mallory', 'two', event));
      const again = await observe('alice-laptop', messageOf('alice', 'one', event));
      expect([first.body.status, second.body.status]).to.deep.equal(['accepted', 'accepted']);
      expect(again.body).to.deep.equal({ obs_id: first.body.obs_id, status: 'duplicate' });
    });

    it('see no text, space or session of another on the routes of the gate', async () => {
      const ids = ['alice-laptop', 'mallory', 'bot'];
      for (const id of ids) {
        const user = { 'alice-laptop': 'alice', mallory: 'mallory', bot: 'bot' }[id] ?? '';
        const session_key = `secret-session-of-${user}`;
        await observe(id, messageOf(user, `the secret text of ${user}`, { session_key }));
        await observe(id, messageOf(user, `the secret text of ${user}`, { session_key }));
        const data = { obs_type: 'world_data', payload: { schema_id: `the-secret-text-of-${user}`, data: {} } };
        await observe(id, { actor: { actor_type: 'user', actor_id: user }, session_key, ...data });
      }
      const paths = [
        '/gate/sessions',
        '/gate/status',
        ...['drop', 'sink', 'tool'].map((pool) => `/gate/pools/${pool}`),
      ];
      const seen = async (id: string) => (await Promise.all(paths.map((path) => get(path, id)))).join('\n');
      const users = (text: string) => [
        ...new Set([...text.matchAll(/secret.(?:text|session).of.(\w+)/gu)].map(([, user]) => user)),
      ];
      for (const [id, user] of [
        ['alice-laptop', 'alice'],
        ['mallory', 'mallory'],
        ['bot', 'bot'],
      ] as const) {
        const text = await seen(id);
        expect(text, id).to.include(`secret-session-of-${user}`).and.include(`the-secret-text-of-${user}`);
        expect(users(text), id).to.deep.equal([user]);
      }
      expect(users(await seen('operator'))).to.have.members(['alice', 'mallory', 'bot']);
    });

    it('get explanations only of decisions on their own observations', async () => {
      const explain = async (id: string, body: Json) => {
        const answer = await post('/gate/explain', { source_name: 'shop', ...body }, id);
        return answer.status === 200 ? 200 : answer.body.error.code;
      };
      await observe('alice-laptop', messageOf('alice', 'hi', { session_key: 'console:alice:s1' }));
      const foreign = messageOf('mallory', 'hi', { session_key: 'console:alice:s1' });
      expect(await explain('mallory', messageOf('alice', 'hi'))).to.equal('actor_mismatch');
      expect(await explain('mallory', foreign)).to.equal('session_forbidden');
      expect(await explain('mallory', messageOf('mallory', 'hi'))).to.equal(200);
      expect(await explain('mallory', { payload: { text: 'hi' } })).to.equal(200);
      expect(await explain('operator', foreign)).to.equal(200);
    });

    it('of a pooled observation apply when it is released', async () => {
      const text = `call memory_query ${JSON.stringify({ query: 'x', spaces: ['private:alice'] })}`;
      await post('/gate/overrides', { overrides: { drop_actors: ['mallory'] }, reason: 'test' }, 'operator');
      await until('the override', async () => {
        const { body } = await observe('mallory', messageOf('mallory', text));
        return (body.decision as Json | null)?.action === 'drop';
      });
      await host.fetch('/gate/overrides/drop_actors', { method: 'DELETE', headers: keyOf('operator') });
      const { items } = JSON.parse(await get('/gate/pools/drop', 'operator')) as { items: { obs_id: string }[] };
      const before = results().length;
      await until(
        'the end of the override',
        async () => !(await get('/gate/status', 'operator')).includes('"mallory"'),
      );
      await post(`/gate/pools/drop/${items[0]?.obs_id}/release`, {}, 'operator');
      await until('the answer', () => results().length > before);
      expect(lastResult()).to.match(/SPACE_FORBIDDEN|space_forbidden|not use that space/);
    });

    it('start a new chat with /new, without a model request', async () => {
      const session_key = 'console:alice:s1';
      await observe('alice-laptop', messageOf('alice', 'remember the walrus', { session_key }));
      await until('the first answer', () => model.requests.length === 1);
      await observe('alice-laptop', messageOf('alice', ' /new ', { session_key }));
      await observe('alice-laptop', messageOf('alice', 'hello', { session_key }));
      await until('the second answer', () => model.requests.length === 2);
      expect(JSON.stringify(model.requests[1]?.messages))
        .to.include('hello')
        .and.not.include('walrus')
        .and.not.include('/new');
    });
  });
});
