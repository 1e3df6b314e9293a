import { expect } from 'chai';
import type { InputRequestChange } from 'mortise/contracts/agent';
import { asksFor, errorOf, fakeModel, inTurn, says, user } from 'mortise/contracts/agent/testing';
import { createTestHost, eachDatabase, type TestHost, type TestPlugin, until } from 'mortise/sdk/testing';

const questions = [
  { id: 'way', header: 'Way', question: 'Which way?', options: [{ label: 'left' }, { label: 'right' }] },
  { id: 'why', header: 'Why', question: 'Why?' },
];

describe('questions to the user', () => {
  eachDatabase((engine) => {
    const hosts: TestHost[] = [];
    const changes: InputRequestChange[] = [];
    let script: ReturnType<typeof inTurn>;
    const model = fakeModel((request, call, signal) => script(request, call, signal));
    const listener: TestPlugin = {
      manifest: { key: 'listener' },
      definition: { key: 'listener', start: (host) => void host.on('input-request', (change) => changes.push(change)) },
    };
    const keys = [
      { key: 'key-of-everyone-0', id: 'all' },
      { key: 'key-of-otto-00000', id: 'otto', actor: 'otto' },
    ];
    const open = async () => {
      const host = await createTestHost({
        plugins: ['agent', 'channel-console', 'tool-plan'],
        extra: [model.plugin, listener],
        database: engine.env,
        env: { MORTISE_API_KEYS: JSON.stringify(keys) },
      });
      hosts.push(host);
      return host;
    };

    before(async () => {
      await open();
      if (engine.dialect === 'postgres') await open();
    });
    beforeEach(() => {
      changes.length = 0;
      model.requests.length = 0;
    });
    after(async function stop() {
      await Promise.all(hosts.map((host) => host.stop()));
    });

    const all = { 'x-api-key': 'key-of-everyone-0' };
    const first = () => hosts[0] as TestHost;
    const other = () => hosts.at(-1) as TestHost;
    const meta = { collaboration_mode: 'Plan' };
    const plan = (session_id: string) =>
      first().post('/chats', { session_id, user_id: 'u', channel: 'console', meta }, all);
    const process = (session_id: string, extra: object = {}) =>
      first().post('/agent/process', { session_id, user_id: 'u', input: [user('go')], ...extra }, all);
    const list = async (query = '') =>
      (await (await other().fetch(`/agent/tool-input-requests${query}`, { headers: all })).json()) as {
        request_id: string;
        expires_at: string;
      }[];
    const answer = (body: object, headers: Record<string, string> = all) =>
      other().post('/agent/tool-input-answer', body, headers);
    const asking = () => until('the question', async () => (await list()).length > 0);

    it('are answered through any replica, and the turn goes on', async () => {
      await plan('s1');
      script = inTurn(
        () => asksFor([['call-7', 'request_user_input', JSON.stringify({ questions })]]),
        () => says('thanks'),
      );
      const turn = process('s1');
      await asking();
      const [pending] = await list('?session_id=s1');
      expect(pending).to.include({ request_id: 'call-7', session_id: 's1', user_id: 'u', channel: 'console' });
      expect(pending?.expires_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(await list('?session_id=s2')).to.deep.equal([]);
      expect(await errorOf(await answer({}))).to.include({ status: 400, message: 'request_id is required' });
      expect(await errorOf(await answer({ request_id: 'none', answers: {} }))).to.include({
        status: 404,
        code: 'request_user_input_not_found',
      });
      const body = { request_id: 'call-7', answers: { way: { answers: ['left', ' '] }, why: { answers: [] } } };
      expect(await errorOf(await answer({ ...body, session_id: 's2' }))).to.include({
        status: 409,
        code: 'request_user_input_mismatch',
        message: 'request_user_input ownership mismatch',
      });
      expect((await errorOf(await answer({ ...body, answers: { way: 7 } }))).code).to.equal('invalid_request');
      expect((await answer(body, { 'x-api-key': 'key-of-otto-00000' })).status).to.equal(404);
      expect(await errorOf(await answer({ ...body, answers: { ...body.answers, Way: ['left'] } }))).to.include({
        status: 400,
        code: 'invalid_request',
        message: 'answers names unknown questions: "Way"',
      });
      const accepted = await answer({ ...body, session_id: 's1', user_id: 'u' });
      expect(await accepted.json()).to.deep.equal({ accepted: true, request_id: 'call-7' });
      expect(((await (await turn).json()) as { reply: string }).reply).to.equal('thanks');
      const row = model.requests[1]?.messages.find(({ role }) => role === 'tool');
      expect(JSON.parse(String(row?.content))).to.deep.equal({
        request_id: 'call-7',
        answers: { way: { answers: ['left'] }, why: { answers: [] } },
      });
      expect(changes.map(({ state, requestId }) => [state, requestId])).to.deep.equal([
        ['pending', 'call-7'],
        ['answered', 'call-7'],
      ]);
      expect(await list()).to.deep.equal([]);
      expect((await answer(body)).status).to.equal(404);
    });

    it('have one open request per id, and end with their turn', async () => {
      await plan('s3');
      await plan('s4');
      const tool = (input: object) => ({ biz_params: { tool: { name: 'request_user_input', input } } });
      const leaving = new AbortController();
      const asked = first()
        .fetch('/agent/process', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...all },
          body: JSON.stringify({ session_id: 's3', user_id: 'u', ...tool({ questions, request_id: 'mine' }) }),
          signal: leaving.signal,
        })
        .catch(() => undefined);
      await asking();
      expect(await errorOf(await process('s4', tool({ questions, request_id: 'mine' })))).to.include({
        status: 409,
        code: 'tool_conflict',
      });
      leaving.abort();
      await asked;
      await until('the end of the question', async () => (await list()).length === 0);
      await until('the event', () => changes.at(-1)?.state === 'expired');
      // The id is free again.
      const again = process('s4', tool({ questions, request_id: 'mine' }));
      await asking();
      await answer({ request_id: 'mine', answers: {} });
      expect((await again).status).to.equal(200);
    });

    it('are refused without a plan, and with an id twice', async () => {
      const tool = (input: object) => ({ biz_params: { tool: { name: 'request_user_input', input } } });
      expect(await errorOf(await process('s5', tool({ questions })))).to.include({
        status: 400,
        code: 'tool_not_available',
      });
      await plan('s6');
      const [one] = questions;
      expect(await errorOf(await process('s6', tool({ questions: [one, one] })))).to.include({
        code: 'invalid_tool_input',
      });
      expect((await process('s6', tool({ questions: [] }))).status).to.equal(400);
    });

    it('leave room for a plan, which the chat keeps', async () => {
      const steps = [
        { step: 'look', status: 'completed' },
        { step: 'build', status: 'in_progress' },
      ];
      const tool = (plan: object[]) => ({ biz_params: { tool: { name: 'update_plan', input: { plan } } } });
      expect((await process('s7', tool(steps))).status).to.equal(200);
      const chats = (await (await first().fetch('/chats?user_id=u', { headers: all })).json()) as {
        session_id: string;
        meta: { codex_update_plan?: { plan: object } };
      }[];
      expect(chats.find(({ session_id }) => session_id === 's7')?.meta.codex_update_plan?.plan).to.deep.equal(steps);
      const two = steps.map((step) => ({ ...step, status: 'in_progress' }));
      expect(await errorOf(await process('s7', tool(two)))).to.include({ code: 'invalid_tool_input' });
    });
  });
});
