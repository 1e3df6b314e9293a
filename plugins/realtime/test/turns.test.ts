import { expect } from 'chai';
import {
  asksFor,
  echoTool,
  fakeGate,
  fakeModel,
  fakeTool,
  inTurn,
  says,
  slowly,
} from 'mortise/contracts/agent/testing';
import { chunks, kinds, type SocketClient, textOf } from 'mortise/contracts/realtime/testing';
import { MortiseError } from 'mortise/sdk';
import { eachDatabase, type TestPlugin, until } from 'mortise/sdk/testing';
import { main, openPlatform, type Platform } from './platform.js';

const limitText = "I've reached the maximum number of tool calls. Please try again.";

describe('turns of the socket', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    async function start(options: Parameters<typeof openPlatform>[1]): Promise<SocketClient> {
      platform = await openPlatform(engine, options);
      return platform.connect();
    }

    async function stored(): Promise<unknown[]> {
      return (await platform.rows()).map(({ role, content, status }) => [role, content, status]);
    }

    async function turnStatus(): Promise<string | null | undefined> {
      return (await platform.rows()).at(-1)?.turnStatus;
    }

    it('show a tool call before the answer and store every row', async () => {
      const model = fakeModel(
        inTurn(
          () => asksFor([['call_1', 'echo', '{"text":"ping"}']]),
          () => says('Got: ping'),
        ),
      );
      const client = await start({ model, extra: [echoTool] });
      const frames = await client.ask('chat.send', { content: 'go', events: ['tool_result'] });
      expect(frames.map(({ type, data }) => [type, data])).to.deep.equal([
        ['tool_call', { tool_name: 'echo', arguments: { text: 'ping' }, call_id: 'call_1' }],
        ['tool_result', { call_id: 'call_1', ok: true, summary: '{"echoed":"ping"}' }],
        ['stream_chunk', { content: 'Got: ping', done: false }],
        ['stream_chunk', { content: '', done: true }],
      ]);
      const rows = await platform.rows();
      expect(rows.map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'go'],
        ['assistant', ''],
        ['tool', '{"echoed":"ping"}'],
        ['assistant', 'Got: ping'],
      ]);
      expect([rows[1]?.toolCalls?.[0]?.id, rows[2]?.toolCallId]).to.deep.equal(['call_1', 'call_1']);
      const roles = model.requests[1]?.messages.map(({ role }) => role).filter((role) => role !== 'system');
      expect(roles).to.deep.equal(['user', 'assistant', 'tool']);
    });

    it('number the rows of several rounds without a gap', async () => {
      const round = () => asksFor([['call_1', 'echo', '{}']]);
      const client = await start({ model: fakeModel(inTurn(round, round, () => says('end'))), extra: [echoTool] });
      expect(kinds(await client.ask('chat.send', { content: 'go' }))).to.deep.equal([
        'tool_call',
        'tool_call',
        'stream_chunk',
        'done',
      ]);
      const rows = await platform.rows();
      expect(rows.map(({ seq, role }) => `${seq} ${role}`)).to.deep.equal([
        '0 user',
        '1 assistant',
        '2 tool',
        '3 assistant',
        '4 tool',
        '5 assistant',
      ]);
    });

    it('show text that comes before the calls at once, and store both in one row', async () => {
      const first = () => asksFor([['call_1', 'check', '{}']], 'Let me check... ');
      const model = fakeModel(inTurn(first, () => says('Result found')));
      const client = await start({ model, extra: [fakeTool('check', () => ({ found: true }))] });
      expect(kinds(await client.ask('chat.send', { content: 'go' }))).to.deep.equal([
        'stream_chunk',
        'tool_call',
        'stream_chunk',
        'done',
      ]);
      const [, asked] = await platform.rows();
      expect([asked?.content, asked?.toolCalls?.length]).to.deep.equal(['Let me check... ', 1]);
    });

    it('continue when a tool is unknown, gets bad arguments, fails or is too slow', async () => {
      const calls = () =>
        asksFor([
          ['c1', 'echo', '{bad json}'],
          ['c2', 'echo', '[1]'],
          ['c3', 'unknown_tool', '{"q":"test"}'],
          ['c4', 'failing_tool', '{}'],
          ['c5', 'slow_tool', '{}'],
        ]);
      const failing = fakeTool('failing_tool', () => {
        throw new Error('secret words');
      });
      const slow = fakeTool('slow_tool', () => new Promise(() => undefined), { timeoutSeconds: 0.1 });
      const client = await start({
        model: fakeModel(inTurn(calls, () => says('Tools failed, sorry'))),
        extra: [echoTool, failing, slow],
      });
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(frames.flatMap(({ type, data }) => (type === 'tool_call' ? [data.arguments] : []))).to.deep.equal([
        {},
        {},
        { q: 'test' },
        {},
        {},
      ]);
      expect(textOf(frames)).to.equal('Tools failed, sorry');
      expect(kinds(frames).at(-1)).to.equal('done');
      const answers = (await platform.rows()).flatMap(({ role, content }) =>
        role === 'tool' ? [JSON.parse(content)] : [],
      );
      expect(answers.map(({ error_code, message }) => [error_code, message])).to.deep.equal([
        ['INVALID_ARGS', answers[0].message],
        ['INVALID_ARGS', 'Expected dict arguments, got list'],
        ['UNKNOWN_TOOL', 'Unknown tool: unknown_tool'],
        ['EXECUTION_ERROR', 'Tool failing_tool failed'],
        ['TOOL_TIMEOUT', 'Tool slow_tool timed out'],
      ]);
      expect(answers[0].message).to.match(/^Invalid JSON arguments: /);
    });

    it('end with the text of the step limit after the last allowed round, and store it', async () => {
      const model = fakeModel(() => asksFor([['call_1', 'echo', '{"text":"ping"}']]));
      const client = await start({ model, extra: [echoTool], env: { MORTISE_MAX_TOOL_ITERATIONS: '10' } });
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(frames.filter(({ type }) => type === 'tool_call')).to.have.length(10);
      expect(frames.at(-1)?.data).to.deep.equal({ content: '', done: true });
      expect(textOf(frames)).to.equal(limitText);
      const rows = await platform.rows();
      expect([rows.length, rows.at(-1)?.status, rows.at(-1)?.content]).to.deep.equal([22, 'limit', limitText]);
      expect(model.requests).to.have.length(10);
    });

    it('write nothing more once the session was taken over, and the next turn gets INTERRUPTED for open calls', async () => {
      const model = fakeModel(
        inTurn(
          () => asksFor([['call_1', 'steal_lock', '{}']]),
          () => says('fine'),
        ),
      );
      const thief = fakeTool('steal_lock', async () => {
        await platform.tables.statement("update {realtime.sessions} set lock_token = 'thief'");
        return { stolen: true };
      });
      const client = await start({ model, extra: [thief] });
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(kinds(frames)).to.deep.equal(['tool_call', 'SESSION_FENCED']);
      expect(frames[1]?.error?.message).to.equal('Lock token mismatch for session main: another worker has taken over');
      expect((await platform.rows()).map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
      expect(await turnStatus()).to.equal('fenced');
      expect(model.requests).to.have.length(1);
      expect(kinds(await client.ask('chat.send', { content: 'still taken' }))).to.deep.equal(['SESSION_BUSY']);
      await platform.tables.statement('update {realtime.sessions} set lock_token = null, lease_expires_at = null');
      expect(textOf(await client.ask('chat.send', { content: 'again' }))).to.equal('fine');
      const sent = model.requests[1]?.messages.filter(({ role }) => role !== 'system') ?? [];
      expect(sent.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool', 'user']);
      expect(sent[2]?.content).to.equal(
        '{"error_code":"INTERRUPTED","message":"The call was interrupted; its effect is unknown"}',
      );
    });

    it('are refused at once when another process holds the session', async () => {
      const model = fakeModel(() => says('ok'));
      const client = await start({ model });
      await client.ask('chat.send', { content: 'first' });
      await platform.tables.statement(
        `update {realtime.sessions} set lock_token = 'other', lease_expires_at = ${platform.tables.now.millis} + 60000
         where channel = 'ws'`,
      );
      expect(kinds(await client.ask('chat.send', { content: 'second' }))).to.deep.equal(['SESSION_BUSY']);
      expect((await platform.rows()).map(({ content }) => content)).to.deep.equal(['first', 'ok']);
      expect(model.requests).to.have.length(1);
    });

    it('store the text before a failure of the model', async () => {
      const model = fakeModel(async function* () {
        yield { type: 'content_delta', text: 'Hel' };
        throw new MortiseError('provider_request_failed', 'provider stream request failed', { status: 502 });
      });
      const client = await start({ model });
      const frames = await client.ask('chat.send', { content: 'hi' });
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'LLM_ERROR']);
      expect(frames[1]?.error?.message).to.equal('LLM API error: provider stream request failed');
      expect(await stored()).to.deep.equal([
        ['user', 'hi', 'complete'],
        ['assistant', 'Hel', 'error'],
      ]);
    });

    it('report model failures with the number of attempts', async () => {
      const failures: [object, string][] = [
        [{ attempts: 3, provider_status: 429 }, 'LLM call failed after 3 attempts: provider returned status 429'],
        [{ provider_status: 400 }, 'LLM API error: 400 provider returned status 400'],
        [{ cause: 'incomplete_stream' }, 'Model stream ended before completion'],
      ];
      const model = fakeModel(async function* (_, call) {
        const details = (failures[call - 1]?.[0] ?? {}) as { provider_status?: number };
        yield* [];
        throw new MortiseError('provider_request_failed', `provider returned status ${details.provider_status}`, {
          details,
        });
      });
      const client = await start({ model });
      for (const [, message] of failures) {
        const [frame] = await client.ask('chat.send', { content: 'hi' });
        expect([frame?.error?.code, frame?.error?.message]).to.deep.equal(['LLM_ERROR', message]);
      }
    });

    it('end at their time limit', async () => {
      const model = fakeModel((_, __, signal) => slowly(60, Array(100).fill('x'), signal));
      const client = await start({ model, env: { MORTISE_AGENT_TURN_TIMEOUT_SECONDS: '1.5' } });
      const frames = await client.ask('chat.send', { content: 'hi' });
      expect(frames.at(-1)?.error?.code).to.equal('TURN_TIMEOUT');
      expect(frames.at(-1)?.error?.message).to.equal('Turn exceeded 1.5 s');
      expect((await stored())[1]).to.deep.equal(['assistant', textOf(frames), 'error']);
      expect(await turnStatus()).to.equal('timed_out');
    });

    it('have a placeholder reply when the model says nothing', async () => {
      const client = await start({ model: fakeModel(() => says()) });
      expect(chunks(await client.ask('chat.send', { content: 'hi' }))).to.deep.equal(['(empty reply)']);
      expect((await stored())[1]).to.deep.equal(['assistant', '(empty reply)', 'complete']);
    });

    it('report usage once and before the end, on request', async () => {
      const model = fakeModel(async function* () {
        yield { type: 'content_delta', text: 'ok' };
        yield { type: 'usage', inputTokens: 7, outputTokens: 2 };
        yield { type: 'done' };
      });
      const client = await start({ model });
      const frames = await client.ask('chat.send', { content: 'hi', events: ['usage'] });
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'usage', 'done']);
      expect(frames[1]?.data).to.deep.equal({ input_tokens: 7, output_tokens: 2 });
    });

    it('end as interrupted when the socket closes, and free the session', async () => {
      const model = fakeModel((_, call, signal) =>
        call === 1 ? slowly(50, Array(200).fill('x'), signal) : says('ok'),
      );
      const client = await start({ model });
      const id = client.request('chat.send', { content: 'hi' });
      await until('a chunk', () => client.of(id).length > 0);
      client.socket.terminate();
      await until('the aborted model', () => model.signals[0]?.aborted === true);
      await until('the end of the turn', async () => (await turnStatus()) === 'interrupted');
      expect((await stored())[1]).to.deep.equal(['assistant', (await platform.rows())[1]?.content, 'interrupted']);
      const other = await platform.connect();
      expect(kinds(await other.ask('chat.send', { content: 'next' }))).to.deep.equal(['stream_chunk', 'done']);
    });

    it('continue without their socket for the configured grace time', async () => {
      const model = fakeModel((_, __, signal) => slowly(50, Array(6).fill('x'), signal));
      const client = await start({ model, env: { MORTISE_WS_DISCONNECT_GRACE_SECONDS: '20' } });
      const id = client.request('chat.send', { content: 'hi' });
      await until('a chunk', () => client.of(id).length > 0);
      client.socket.terminate();
      await until('the end of the turn', async () => (await turnStatus()) === 'completed');
      expect((await stored())[1]).to.deep.equal(['assistant', 'xxxxxx', 'complete']);
    });

    it('run once per key, and are replayed', async () => {
      const asked = Promise.withResolvers<void>();
      const model = fakeModel(async function* () {
        yield { type: 'content_delta', text: 'one ' };
        await asked.promise;
        yield* says('two');
      });
      const client = await start({ model });
      const message = { content: 'hi', idempotency_key: 'k1' };
      const first = client.request('chat.send', message);
      await until('a chunk', () => client.of(first).length > 0);
      expect(kinds(await client.ask('chat.send', message))).to.deep.equal(['TURN_IN_PROGRESS']);
      const other = await platform.connect();
      expect(kinds(await other.ask('chat.send', message))).to.deep.equal(['TURN_IN_PROGRESS']);
      asked.resolve();
      await client.end(first);
      expect((await other.ask('chat.send', message)).map(({ data }) => data)).to.deep.equal([
        { content: 'one two', done: false },
        { content: '', done: true, replayed: true },
      ]);
      expect(kinds(await other.ask('chat.send', { ...message, content: 'else' }))).to.deep.equal([
        'IDEMPOTENCY_CONFLICT',
      ]);
      expect(model.requests).to.have.length(1);
      expect(await stored()).to.have.length(2);
    });

    it('give a key up when they fail', async () => {
      const model = fakeModel((_, call) => {
        if (call === 1) throw new MortiseError('provider_request_failed', 'gone', { status: 502 });
        return says('now');
      });
      const client = await start({ model });
      const message = { content: 'hi', idempotency_key: 'k1' };
      expect(kinds(await client.ask('chat.send', message))).to.deep.equal(['LLM_ERROR']);
      expect(kinds(await client.ask('chat.send', message))).to.deep.equal(['stream_chunk', 'done']);
    });

    it('do not start when the gate drops or sinks the message', async () => {
      const gate = { action: 'drop' as 'drop' | 'sink', reason: 'override=drop_actor' };
      const model = fakeModel(() => says('never'));
      const client = await start({ model, extra: [fakeGate(() => gate)] });
      const [dropped] = await client.ask('chat.send', { content: 'hi' });
      expect([dropped?.error?.code, dropped?.error?.message]).to.deep.equal([
        'GATE_DROPPED',
        'The message was refused by the gate: override=drop_actor',
      ]);
      expect(dropped?.error?.details).to.include({ action: 'drop', scene: 'dialogue', reason: 'override=drop_actor' });
      expect(dropped?.error?.details).to.have.all.keys('action', 'reason', 'reasons', 'scene', 'obs_id', 'trace_id');
      Object.assign(gate, { action: 'sink', reason: 'threshold_sink' });
      const sunk = await client.ask('chat.send', { content: 'hi' });
      expect(kinds(sunk)).to.deep.equal(['done']);
      expect(sunk[0]?.data.gate).to.include({ action: 'sink', reason: 'threshold_sink' });
      expect(model.requests).to.have.length(0);
      expect(await platform.host.service('sessions').currentChat(main)).to.equal(undefined);
    });

    it('do not start for a blank message', async () => {
      const model = fakeModel(() => says('never'));
      platform = await openPlatform(engine, {
        model,
        plugins: ['realtime', 'agent', 'channel-console', 'gate'],
      });
      const client = await platform.connect();
      for (const content of ['', ' \n ']) {
        const [frame] = await client.ask('chat.send', { content });
        expect([frame?.error?.code, frame?.error?.details?.reason]).to.deep.equal(['GATE_DROPPED', 'empty_content']);
      }
      expect(model.requests).to.have.length(0);
      expect(await platform.host.service('sessions').currentChat(main)).to.equal(undefined);
    });

    it('are not needed to start a new chat', async () => {
      const model = fakeModel(() => says('ok'));
      const client = await start({ model });
      await client.ask('chat.send', { content: 'old' });
      const frames = await client.ask('chat.send', { content: ' /NEW ' });
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'done']);
      expect(textOf(frames)).to.equal('上下文已清理，已开始新会话。');
      expect((await client.answer('chat.history')).messages).to.deep.equal([]);
      expect(model.requests).to.have.length(1);
    });

    it('of other channels are those of other entry points, and no plugin may contribute the socket’s channel', async () => {
      const facts = { defaults: { enabled: true } };
      const impostor: TestPlugin = {
        manifest: { key: 'impostor', contributes: { channel: [{ key: 'ws', facts }] } },
        definition: {
          key: 'impostor',
          register: (host) => host.contribute('channel', 'ws', { ...facts, sendText: async () => undefined }),
        },
      };
      const client = await start({ model: fakeModel(() => says('from the console')), extra: [impostor] });
      const row = platform.host.control.list().find(({ key }) => key === 'impostor');
      expect(row).to.include({ state: 'blocked', code: 'contribution_key' });
      const where = { channel: 'console', user_id: 'u1', session_id: 's1' };
      await client.ask('chat.send', { content: 'hi', ...where });
      const chats = (await (await platform.host.fetch('/chats?user_id=u1')).json()) as {
        id: string;
        channel: string;
      }[];
      expect(chats.map(({ channel }) => channel)).to.deep.equal(['console']);
      expect((await client.answer('chat.history', where)).messages).to.have.length(2);
      const refused = await platform.host.post('/agent/process', {
        session_id: 'main',
        user_id: 'local',
        channel: 'ws',
        input: [],
      });
      expect(((await refused.json()) as { error: { code: string } }).error.code).to.equal('channel_not_supported');
    });
  });
});
