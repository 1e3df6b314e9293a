import { expect } from 'chai';
import { echoTool, errorOf, eventsOf, fakeTool } from 'mortise/contracts/agent/testing';
import { openAi } from 'mortise/contracts/provider-openai/testing';
import { chunks, kinds } from 'mortise/contracts/realtime/testing';
import { oneDatabase, type TestPlugin } from 'mortise/sdk/testing';
import { httpSession, type ModelPlatform, openModelPlatform } from './platform.js';

const { asksFor, chunk, endMark, says, streams, toolChunk } = openAi;
const limitText = "I've reached the maximum number of tool calls. Please try again.";
const finish = [chunk({}, 'tool_calls'), endMark];

describe('tool calls of a streaming API', () => {
  oneDatabase((engine) => {
    let platform: ModelPlatform;

    afterEach(async function stop() {
      await platform.stop();
    });

    async function start(tools: readonly TestPlugin[] = [echoTool], env: Record<string, string> = {}): Promise<void> {
      platform = await openModelPlatform(engine, env, tools);
    }

    const stored = async () =>
      (await platform.rows()).map(({ seq, role, content, toolCalls, toolCallId }) => [
        seq,
        role,
        content,
        toolCalls?.map(({ id }) => id).join() ?? toolCallId ?? '',
      ]);

    it('are sent before they run, stored row by row, and answered in the next request', async () => {
      await start();
      platform.upstream.answer(asksFor(['call_1', 'echo', '{"text":"ping"}']), says('Got: ping'));
      const frames = await platform.send('go', { events: ['tool_result', 'usage'] });
      expect(frames.map(({ type, data }) => [type, data])).to.deep.equal([
        ['tool_call', { tool_name: 'echo', arguments: { text: 'ping' }, call_id: 'call_1' }],
        ['tool_result', { call_id: 'call_1', ok: true, summary: '{"echoed":"ping"}' }],
        ['stream_chunk', { content: 'Got: ping', done: false }],
        ['usage', { input_tokens: 18, output_tokens: 6 }],
        ['stream_chunk', { content: '', done: true }],
      ]);
      expect(await stored()).to.deep.equal([
        [0, 'user', 'go', ''],
        [1, 'assistant', '', 'call_1'],
        [2, 'tool', '{"echoed":"ping"}', 'call_1'],
        [3, 'assistant', 'Got: ping', ''],
      ]);
      const [first, second] = platform.asked();
      expect(first?.tools?.map(({ function: { name } }) => name)).to.deep.equal(['echo']);
      expect(second?.messages).to.deep.equal([
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"text":"ping"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', name: 'echo', content: '{"echoed":"ping"}' },
      ]);
    });

    it('are the same events over HTTP, streamed or not', async () => {
      await start();
      const round = () => [asksFor(['call_1', 'echo', '{"text":"ping"}']), says('Got it')];
      platform.upstream.answer(...round(), ...round());
      const whole = (await (await platform.process('go')).json()) as { events: { meta?: object }[] };
      const streamed = (await eventsOf(await platform.process('go', { stream: true }))) as { meta?: object }[];
      const plain = (events: readonly { meta?: object }[]) => events.map(({ meta: _, ...event }) => event);
      expect(plain(streamed.slice(0, -1))).to.deep.equal(plain(whole.events));
      expect(plain(whole.events).slice(0, 3)).to.deep.equal([
        { type: 'step_started', step: 1 },
        { type: 'tool_call', step: 1, tool_call: { name: 'echo', input: { text: 'ping' } } },
        { type: 'tool_result', step: 1, tool_result: { name: 'echo', ok: true, summary: '{"echoed":"ping"}' } },
      ]);
    });

    it('run in several rounds, whose rows have no gap', async () => {
      await start();
      const round = asksFor(['call_1', 'echo', '{}']);
      platform.upstream.answer(round, round, says('end'));
      expect(kinds(await platform.send('go'))).to.deep.equal(['tool_call', 'tool_call', 'stream_chunk', 'done']);
      expect((await stored()).map(([seq, role]) => `${seq} ${role}`)).to.deep.equal([
        '0 user',
        '1 assistant',
        '2 tool',
        '3 assistant',
        '4 tool',
        '5 assistant',
      ]);
    });

    it('come after the text before them, in one row with it', async () => {
      await start([fakeTool('check', () => ({ found: true }))]);
      platform.upstream.answer(
        openAi.completes({ text: ['Let me ', 'check... '], calls: [['call_1', 'check', '{}']] }),
        says('Result found'),
      );
      const frames = await platform.send('go');
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'stream_chunk', 'tool_call', 'stream_chunk', 'done']);
      expect((await stored())[1]).to.deep.equal([1, 'assistant', 'Let me check... ', 'call_1']);
      expect(platform.asked()[1]?.messages[1]?.content).to.equal('Let me check... ');
    });

    it('may fail without ending the turn, and the model gets the error', async () => {
      const failing = fakeTool('failing_tool', () => {
        throw new Error('secret words');
      });
      const slow = fakeTool('slow_tool', () => new Promise(() => undefined), { timeoutSeconds: 0.05 });
      await start([echoTool, failing, slow]);
      platform.upstream.answer(
        asksFor(
          ['c1', 'echo', '{bad json}'],
          ['c2', 'echo', '[1]'],
          ['c3', 'unknown_tool', '{"q":"test"}'],
          ['c4', 'failing_tool', '{}'],
          ['c5', 'slow_tool', '{}'],
        ),
        says('sorry'),
      );
      const frames = await platform.send('go');
      expect(frames.flatMap(({ type, data }) => (type === 'tool_call' ? [data.arguments] : []))).to.deep.equal([
        {},
        {},
        { q: 'test' },
        {},
        {},
      ]);
      expect(chunks(frames)).to.deep.equal(['sorry']);
      const reported = platform.asked()[1]?.messages.slice(2) ?? [];
      expect(reported.map(({ role, tool_call_id: id }) => [role, id])).to.deep.equal(
        ['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => ['tool', id]),
      );
      const answers = reported.map(({ content }) => JSON.parse(String(content)));
      expect(answers.map(({ error_code, message }) => [error_code, message])).to.deep.equal([
        ['INVALID_ARGS', 'Invalid JSON arguments: SyntaxError'],
        ['INVALID_ARGS', 'Expected dict arguments, got list'],
        ['UNKNOWN_TOOL', 'Unknown tool: unknown_tool'],
        ['EXECUTION_ERROR', 'Tool failing_tool failed'],
        ['TOOL_TIMEOUT', 'Tool slow_tool timed out'],
      ]);
      expect(JSON.stringify(platform.asked())).to.not.contain('secret words');
    });

    it('end with the text of the step limit after the last allowed round, even if all rounds are the same', async () => {
      await start([echoTool], { MORTISE_MAX_TOOL_ITERATIONS: '10' });
      platform.upstream.always(asksFor(['call_1', 'echo', '{"text":"ping"}']));
      const frames = await platform.send('go');
      expect(frames.filter(({ type }) => type === 'tool_call')).to.have.length(10);
      expect([chunks(frames), kinds(frames).at(-1)]).to.deep.equal([[limitText], 'done']);
      const rows = await platform.rows();
      expect([rows.length, rows.at(-1)?.content, rows.at(-1)?.status]).to.deep.equal([22, limitText, 'limit']);
      expect(platform.asked()).to.have.length(10);
    });

    it('end at the step limit over HTTP with its code, and in a loop before it', async () => {
      await start();
      platform.upstream.always((request) => {
        const { messages } = request.body as { messages: unknown[] };
        return asksFor(['c', 'echo', `{"text":"${messages.length}"}`]);
      });
      expect(await errorOf(await platform.process('go'))).to.include({
        status: 422,
        code: 'agent_step_limit',
        message: 'agent step limit reached (50)',
      });
      expect(platform.asked()).to.have.length(50);
      platform.upstream.clear();
      platform.upstream.always(asksFor(['c', 'echo', '{"text":"ping"}']));
      const events = await eventsOf(await platform.process('go', { stream: true }));
      const [error, end] = events.slice(-2) as [{ meta?: object }, string];
      expect(error.meta).to.include({ code: 'agent_loop_detected' });
      expect(end).to.equal('[DONE]');
      expect(platform.asked()).to.have.length(5);
    });

    it('have a result in the next turn when they were interrupted, so that the API accepts it', async () => {
      const thief = fakeTool('steal_lock', async () => {
        await platform.tables.statement("update {realtime.sessions} set lock_token = 'thief'");
        return { stolen: true };
      });
      await start([thief]);
      platform.upstream.answer(asksFor(['call_1', 'steal_lock', '{}']), says('fine'));
      expect(kinds(await platform.send('go'))).to.deep.equal(['tool_call', 'SESSION_FENCED']);
      expect((await platform.rows()).map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
      expect(platform.asked()).to.have.length(1);
      await platform.tables.statement('update {realtime.sessions} set lock_token = null, lease_expires_at = null');
      expect(chunks(await platform.send('again'))).to.deep.equal(['fine']);
      expect(platform.asked()[1]?.messages.map(({ role, tool_call_id: id }) => [role, id])).to.deep.equal([
        ['user', undefined],
        ['assistant', undefined],
        ['tool', 'call_1'],
        ['user', undefined],
      ]);
      expect(String(platform.asked()[1]?.messages[2]?.content)).to.contain('INTERRUPTED');
    });

    it('are assembled however the API cuts them', async () => {
      await start([echoTool, fakeTool('first', (args) => args), fakeTool('second', (args) => args)]);
      const cut: [string, readonly string[], readonly [string, string, object][]][] = [
        [
          'pieces of one call, and a higher index before a lower one',
          [
            toolChunk([{ index: 1, id: 'b', function: { name: 'second', arguments: '{}' } }]),
            toolChunk([{ index: 0, id: 'a', function: { name: 'first', arguments: '' } }]),
            toolChunk([{ index: 0, function: { arguments: '{"a"' } }]),
            toolChunk([{ index: 0, function: { arguments: ':1}' } }]),
          ],
          [
            ['a', 'first', { a: 1 }],
            ['b', 'second', {}],
          ],
        ],
        [
          'ids without an index',
          [
            toolChunk([{ index: null, id: 'a', function: { name: 'first', arguments: '{"n":1}' } }]),
            toolChunk([{ index: null, id: 'b', function: { name: 'second', arguments: '{"n":2}' } }]),
          ],
          [
            ['a', 'first', { n: 1 }],
            ['b', 'second', { n: 2 }],
          ],
        ],
        [
          'names alone',
          [
            toolChunk([{ function: { name: 'first', arguments: '{"n":1}' } }]),
            toolChunk([{ function: { name: 'second', arguments: '{"n":2}' } }]),
          ],
          [
            ['call_1', 'first', { n: 1 }],
            ['call_2', 'second', { n: 2 }],
          ],
        ],
        [
          'one index for two calls',
          [
            toolChunk([{ index: 0, id: 'a', function: { name: 'first', arguments: '{"n":1}' } }]),
            toolChunk([{ index: 0, id: 'b', function: { name: 'second', arguments: '{"n"' } }]),
            toolChunk([{ index: 0, function: { arguments: ':2}' } }]),
          ],
          [
            ['a', 'first', { n: 1 }],
            ['b', 'second', { n: 2 }],
          ],
        ],
        [
          'arguments that are an object, and none at all',
          [
            toolChunk([{ index: 0, id: 'a', function: { name: 'first', arguments: { n: 1 } } }]),
            toolChunk([{ index: 1, id: 'b', function: { name: 'second' } }]),
          ],
          [
            ['a', 'first', { n: 1 }],
            ['b', 'second', {}],
          ],
        ],
      ];
      for (const [what, frames, calls] of cut) {
        platform.upstream.clear();
        platform.upstream.answer(streams(...frames, ...finish), says('done'));
        const shown = await platform.send(what, { session_id: what });
        expect(
          shown.flatMap(({ type, data }) =>
            type === 'tool_call' ? [[data.call_id, data.tool_name, data.arguments]] : [],
          ),
          what,
        ).to.deep.equal(calls);
        const answers = platform.asked()[1]?.messages.slice(2) ?? [];
        expect(
          answers.map(({ content, tool_call_id: id }) => [id, JSON.parse(String(content))]),
          what,
        ).to.deep.equal(calls.map(([id, , args]) => [id, args]));
      }
      platform.upstream.clear();
      const both = chunk({ content: 'now', tool_calls: [{ index: 0, id: 'a', function: { name: 'first' } }] });
      platform.upstream.answer(streams(both, ...finish), says('done'));
      expect(kinds(await platform.send('both', { session_id: 'both' }))).to.deep.equal([
        'stream_chunk',
        'tool_call',
        'stream_chunk',
        'done',
      ]);
    });

    it('may be direct calls, which the API gets with the next request', async () => {
      await start();
      const direct = await platform.process('x', { biz_params: { tool: { name: 'echo', text: 'by hand' } } });
      expect(((await direct.json()) as { reply: string }).reply).to.equal('{"echoed":"by hand"}');
      expect(platform.asked()).to.deep.equal([]);
      const frames = await platform.send('x', { biz_params: { tool: { name: 'echo', input: { text: 'here too' } } } });
      expect(kinds(frames)).to.deep.equal(['tool_call', 'stream_chunk', 'stream_chunk', 'done']);
      platform.upstream.always(says('I see'));
      await platform.process('and now');
      expect(platform.asked()[0]?.messages.map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'x'],
        ['assistant', null],
        ['tool', '{"echoed":"by hand"}'],
        ['assistant', '{"echoed":"by hand"}'],
        ['user', 'and now'],
      ]);
      expect(await platform.rows(httpSession)).to.have.length(6);
    });
  });
});
