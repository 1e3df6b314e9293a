import { expect } from 'chai';
import { asksFor, errorOf, fakeModel, says } from 'mortise/contracts/agent/testing';
import type { GenerateRequest } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';

interface Agent {
  readonly agent_id: string;
  readonly session_id: string;
  readonly status: string;
  readonly pending_inputs: number;
  readonly last_reply?: string;
  readonly last_error?: string;
}

describe('sub-agents', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    const held: (() => void)[] = [];
    const lastUser = ({ messages }: GenerateRequest) =>
      String(messages.findLast(({ role }) => role === 'user')?.content);

    /** Answers with its input; holds `hold`, and calls a tool for `nest`. */
    const model = fakeModel(async function* answer(request, _, signal) {
      const text = lastUser(request);
      if (text === 'hold') {
        await new Promise<void>((resolve, reject) => {
          held.push(resolve);
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
      }
      const isAnswered = request.messages.at(-1)?.role === 'tool';
      if (text === 'nest' && !isAnswered) yield* asksFor([['c', 'spawn_agent', '{"task":"deeper"}']]);
      else if (isAnswered) yield* says(String(request.messages.at(-1)?.content));
      else yield* says(`did ${text}`);
    });

    const keys = [
      { key: 'key-of-everyone-0', id: 'all' },
      { key: 'key-of-otto-00000', id: 'otto', actor: 'otto' },
    ];
    before(async () => {
      host = await createTestHost({
        plugins: ['agent', 'channel-console', 'tool-agents'],
        extra: [model.plugin],
        database: engine.env,
        env: { MORTISE_API_KEYS: JSON.stringify(keys) },
      });
    });
    after(async function stop() {
      await host.stop();
    });

    const call = (name: string, input: object, extra: object = {}, key = 'key-of-everyone-0') =>
      host.post(
        '/agent/process',
        { session_id: 's', user_id: 'u', biz_params: { tool: { name, input } }, ...extra },
        { 'x-api-key': key },
      );
    const result = async (name: string, input: object) => {
      const { reply } = (await (await call(name, input)).json()) as { reply: string };
      return JSON.parse(reply) as { agent: Agent } & Record<string, unknown>;
    };
    const refusal = async (name: string, input: object) => errorOf(await call(name, input));

    it('do their task in the background, in a session of their own', async () => {
      const spawned = await result('spawn_agent', { task: 'build', agent_id: 'builder' });
      expect(spawned).to.include({ ok: true, spawned: true });
      expect(spawned.agent).to.include({ agent_id: 'builder', session_id: 's::builder', prompt_mode: 'default' });
      const waited = await result('wait', { agent_id: 'builder' });
      expect(waited).to.include({ ready: true, timed_out: false });
      expect(waited.agent).to.include({ status: 'idle', last_reply: 'did build', pending_inputs: 0 });
      const chats = (await (
        await host.fetch('/chats?user_id=u', { headers: { 'x-api-key': 'key-of-everyone-0' } })
      ).json()) as {
        session_id: string;
      }[];
      expect(chats.map(({ session_id }) => session_id)).to.include('s::builder');
    });

    it('work on queued inputs one after another', async () => {
      const { agent } = await result('spawn_agent', { task: 'one' });
      const { agent_id } = agent;
      expect(agent_id).to.match(/^agent-\d{19}$/);
      await result('wait', { agent_id });
      const queued = await result('send_input', { agent_id, input: 'two' });
      expect(queued).to.include({ accepted: true, queued_input: 'two' });
      expect(queued.agent.pending_inputs).to.equal(1);
      expect((await result('resume_agent', { agent_id, input: 'three' })).agent).to.include({ pending_inputs: 1 });
      expect((await result('wait', { agent_id })).agent.last_reply).to.equal('did two');
      await result('resume_agent', { agent_id });
      expect((await result('wait', { agent_id })).agent.last_reply).to.equal('did three');
      expect(await refusal('resume_agent', { agent_id })).to.include({ status: 400, code: 'invalid_request' });
    });

    it('cannot be resumed while they run, and end when they are closed', async () => {
      await result('spawn_agent', { task: 'hold', agent_id: 'slow' });
      await until('the model', () => held.length === 1);
      expect(await refusal('spawn_agent', { task: 'x', agent_id: 'slow' })).to.include({
        status: 409,
        code: 'tool_conflict',
      });
      expect(await refusal('resume_agent', { agent_id: 'slow', input: 'x' })).to.include({
        status: 409,
        code: 'tool_conflict',
      });
      expect(await result('wait', { agent_id: 'slow', timeout_ms: 20 })).to.include({ ready: false, timed_out: true });
      expect(await result('close_agent', { agent_id: 'slow' })).to.include({ closed: true, agent_id: 'slow' });
      expect(await refusal('wait', { agent_id: 'slow' })).to.include({ status: 404, code: 'invalid_request' });
    });

    it('have no sub-agents, no session of others and no user of others', async () => {
      await result('spawn_agent', { task: 'nest', agent_id: 'nested' });
      expect((await result('wait', { agent_id: 'nested' })).agent.last_reply).to.contain('tool_not_available');
      expect(await refusal('spawn_agent', { task: 'x', session_id: 's' })).to.include({ code: 'invalid_tool_input' });
      const foreign = await call('wait', { agent_id: 'nested' }, { session_id: 'other' });
      expect(await errorOf(foreign)).to.include({ status: 404 });
      const asOtto = await call('spawn_agent', { task: 'x', user_id: 'u' }, { user_id: 'otto' }, 'key-of-otto-00000');
      expect(await errorOf(asOtto)).to.include({ status: 400, code: 'tool_permission_denied' });
    });

    it('are failed after their process has ended, and keep their queue', async () => {
      const database = host.app.database.forPlugin('tool-agents', ['agent']);
      await result('spawn_agent', { task: 'x', agent_id: 'lost' });
      await result('wait', { agent_id: 'lost' });
      await result('send_input', { agent_id: 'lost', input: 'later' });
      const rows = database.query()(database.table('agent.subagents'));
      await rows.where({ agent_id: 'lost' }).update({ status: 'running', owner_instance: 'a-dead-process' });
      await host.control.disable('tool-agents');
      await host.control.enable('tool-agents');
      expect((await result('wait', { agent_id: 'lost' })).agent).to.include({
        status: 'failed',
        last_error: 'interrupted',
        pending_inputs: 1,
      });
    });
  });
});
