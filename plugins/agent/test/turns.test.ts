import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  asksFor,
  errorOf,
  eventsOf,
  fakeGate,
  fakeModel,
  fakeTool,
  type ModelScript,
  says,
  slowly,
} from 'mortise/contracts/agent/testing';
import { MortiseError } from 'mortise/sdk';
import { contributing, eachDatabase, localPrincipal, type TestEngine, temporaryPath, until } from 'mortise/sdk/testing';
import { limitText } from '../run-turn.js';
import { type Gateway, openGateway, promptSource, turnsOf } from './gateway.js';

type Options = Parameters<typeof openGateway>[1];

describe('agent turns', () => {
  eachDatabase((engine) => {
    let open: Gateway | undefined;

    afterEach(async function stop() {
      await open?.host.stop();
      open = undefined;
    });

    async function start(script: ModelScript, options: Options = {}, capabilities = {}) {
      const model = fakeModel(script, capabilities);
      open = await openGateway(engine as TestEngine, { model, ...options });
      return { ...open, model };
    }

    async function rowsOf({ host }: Gateway) {
      const { messages } = await host
        .service('sessions')
        .display({ session: { channel: 'console', userId: 'u1', sessionId: 's1' } });
      return messages.map(({ seq, role, content, status, toolCallId }) => ({ seq, role, content, status, toolCallId }));
    }

    it('passes deltas on as the provider cuts them, in their order', async () => {
      const { process } = await start(() => says('Hel', 'lo ', 'world'));
      const events = (await eventsOf(await process('hi', { stream: true }))) as { delta?: string }[];
      expect(events.flatMap(({ delta }) => delta ?? [])).to.deep.equal(['Hel', 'lo ', 'world']);
    });

    it('sends each delta immediately', async () => {
      let go: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        go = resolve;
      });
      const { process } = await start(async function* () {
        yield { type: 'content_delta', text: 'first' };
        await held;
        yield { type: 'content_delta', text: 'second' };
        yield { type: 'done' };
      });
      const response = await process('hi', { stream: true });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      while (!seen.includes('first')) seen += (await reader?.read())?.value ?? '';
      expect(seen).to.not.contain('second');
      go();
      while (!seen.includes('[DONE]')) seen += (await reader?.read())?.value ?? '';
    });

    it('runs tools round after round and stores each row', async () => {
      const script: ModelScript = (_, call) =>
        call === 1 ? asksFor([['call_1', 'echo', '{"text":"ping"}']]) : says(`Got: ${call}`);
      const gateway = await start(script, { extra: [fakeTool('echo', ({ text }) => ({ echoed: text }))] });
      const { reply, events } = (await (await gateway.process('go')).json()) as { reply: string; events: object[] };
      expect(reply).to.equal('Got: 2');
      expect(events.slice(0, 4)).to.deep.equal([
        { type: 'step_started', step: 1 },
        { type: 'tool_call', step: 1, tool_call: { name: 'echo', input: { text: 'ping' } } },
        { type: 'tool_result', step: 1, tool_result: { name: 'echo', ok: true, summary: '{"echoed":"ping"}' } },
        { type: 'step_started', step: 2 },
      ]);
      expect((await rowsOf(gateway)).map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'go'],
        ['assistant', ''],
        ['tool', '{"echoed":"ping"}'],
        ['assistant', 'Got: 2'],
      ]);
      expect(gateway.model.requests[1]?.messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool']);
      expect(gateway.model.requests[0]?.tools?.map(({ name }) => name)).to.deep.equal(['echo']);
    });

    it('sends the model the error of a failed tool, and continues', async () => {
      const script: ModelScript = (_, call) =>
        call === 1
          ? asksFor([
              ['c1', 'fails', '{}'],
              ['c2', 'missing', '{"q":1}'],
              ['c3', 'fails', '{bad json}'],
              ['c4', 'fails', '[1]'],
              ['c5', 'fails', '{"text":7}'],
              ['c6', 'refuses', '{}'],
            ])
          : says('sorry');
      const gateway = await start(script, {
        extra: [
          fakeTool('fails', () => {
            throw new Error('a path of the machine');
          }),
          fakeTool('refuses', () => {
            throw new MortiseError('tool_conflict', 'already there', { status: 409, hint: 'Use another name.' });
          }),
        ],
      });
      const { events } = (await (await gateway.process('go')).json()) as {
        events: { tool_call?: { input: object }; tool_result?: { summary: string } }[];
      };
      const answers = (await rowsOf(gateway))
        .filter(({ role }) => role === 'tool')
        .map(({ content }) => JSON.parse(content));
      expect(answers.map(({ error_code, code, message }) => [error_code, code, message])).to.deep.equal([
        ['EXECUTION_ERROR', 'tool_invoke_failed', 'Tool fails failed'],
        ['UNKNOWN_TOOL', 'tool_not_supported', 'Unknown tool: missing'],
        ['INVALID_ARGS', 'invalid_tool_input', 'Invalid JSON arguments: SyntaxError'],
        ['INVALID_ARGS', 'invalid_tool_input', 'Expected dict arguments, got list'],
        ['INVALID_ARGS', 'invalid_tool_input', answers[4].message],
        ['EXECUTION_ERROR', 'tool_conflict', 'Tool refuses failed'],
      ]);
      expect(answers[4].message).to.match(/text/);
      expect(answers[5].detail).to.equal('already there. Use another name.');
      expect(JSON.stringify(answers)).to.not.contain('a path of the machine');
      const inputs = events.flatMap(({ tool_call }) => (tool_call ? [tool_call.input] : []));
      expect(inputs[2]).to.have.keys('raw_arguments', 'parse_error');
      const summaries = events.flatMap(({ tool_result }) => (tool_result ? [tool_result.summary] : []));
      expect([summaries[0], summaries[3], summaries[5]]).to.deep.equal([
        'tool_invoke_failed: Tool fails failed',
        'invalid_tool_input: Expected dict arguments, got list',
        'tool_conflict: already there',
      ]);
    });

    it('sends the model an error when a tool returns no JSON object', async () => {
      const circle: Record<string, unknown> = {};
      circle.self = circle;
      const script: ModelScript = (_, call) =>
        call === 1
          ? asksFor([
              ['c1', 'circle', '{}'],
              ['c2', 'nothing', '{}'],
            ])
          : says('ok');
      const gateway = await start(script, {
        extra: [fakeTool('circle', () => circle), fakeTool('nothing', () => undefined as unknown as object)],
      });
      await gateway.process('go');
      const answers = (await rowsOf(gateway)).filter(({ role }) => role === 'tool');
      expect(answers.map(({ content }) => JSON.parse(content).code)).to.deep.equal(
        Array(2).fill('tool_invalid_result'),
      );
    });

    it('ends a tool at its time limit, and continues', async () => {
      const script: ModelScript = (_, call) => (call === 1 ? asksFor([['c1', 'slow', '{}']]) : says('late'));
      const gateway = await start(script, {
        env: { MORTISE_TOOL_TIMEOUT_SECONDS: '0.05' },
        extra: [fakeTool('slow', () => sleep(5_000, {}))],
      });
      const { reply } = (await (await gateway.process('go')).json()) as { reply: string };
      expect(reply).to.equal('late');
      const [answer] = (await rowsOf(gateway)).filter(({ role }) => role === 'tool');
      expect(JSON.parse(answer?.content ?? '')).to.include({ error_code: 'TOOL_TIMEOUT', code: 'tool_timeout' });
    });

    it('runs the tools of every round and ends at the step limit', async () => {
      const ran: unknown[] = [];
      const gateway = await start((_, call) => asksFor([[`c${call}`, 'count', `{"text":"${call}"}`]]), {
        env: { MORTISE_AGENT_MAX_STEPS: '3' },
        extra: [
          fakeTool('count', ({ text }) => {
            ran.push(text);
            return {};
          }),
        ],
      });
      expect(await errorOf(await gateway.process('go'))).to.deep.equal({
        status: 422,
        code: 'agent_step_limit',
        message: 'agent step limit reached (3)',
        details: { max_steps: 3 },
      });
      expect(ran).to.deep.equal(['1', '2', '3']);
      expect((await rowsOf(gateway)).at(-1)).to.include({ role: 'assistant', content: limitText, status: 'limit' });
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'step_limit', steps: 3 });
      const events = await eventsOf(await gateway.process('again', { stream: true, biz_params: { max_steps: 1 } }));
      expect(events.slice(-2)).to.deep.equal([
        {
          type: 'error',
          meta: { code: 'agent_step_limit', message: 'agent step limit reached (1)', details: { max_steps: 1 } },
        },
        '[DONE]',
      ]);
    });

    it('ends a turn that repeats the same call', async () => {
      const gateway = await start((_, call) => asksFor([[`c${call}`, 'same', '{ "text": "x" }']]), {
        extra: [fakeTool('same', () => ({ always: true }))],
      });
      expect(await errorOf(await gateway.process('go'))).to.include({ status: 422, code: 'agent_loop_detected' });
      expect(gateway.model.requests).to.have.length(5);
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'failed' });
    });

    it('stores the partial text of a failed turn, and ends the stream with its error', async () => {
      const script: ModelScript = async function* (_, call) {
        if (call > 1) return yield* says('better');
        yield { type: 'content_delta', text: 'Hel' };
        throw new MortiseError('provider_request_failed', 'provider returned status 500', { status: 502 });
      };
      const gateway = await start(script);
      const response = await gateway.process('hi', { stream: true });
      expect(response.status).to.equal(200);
      expect(await eventsOf(response)).to.deep.equal([
        { type: 'step_started', step: 1 },
        { type: 'assistant_delta', step: 1, delta: 'Hel' },
        { type: 'error', meta: { code: 'provider_request_failed', message: 'provider returned status 500' } },
        '[DONE]',
      ]);
      expect(await rowsOf(gateway)).to.deep.equal([
        { seq: 0, role: 'user', content: 'hi', status: 'complete', toolCallId: undefined },
        { seq: 1, role: 'assistant', content: 'Hel', status: 'error', toolCallId: undefined },
      ]);
      expect((await turnsOf(gateway.host))[0]).to.deep.include({
        status: 'failed',
        input: [{ role: 'user', content: 'hi' }],
      });
      expect((await gateway.process('again')).status).to.equal(200);
      expect(gateway.model.requests[1]?.messages.map(({ content }) => content)).to.deep.equal(['hi', 'Hel', 'again']);
    });

    it('answers a failure before any text with its status, and hides the failed turn from its chat', async () => {
      const gateway = await start(() => {
        throw new MortiseError('provider_request_failed', 'provider returned status 500', { status: 502 });
      });
      expect(await errorOf(await gateway.process('hi'))).to.include({ status: 502, code: 'provider_request_failed' });
      const [turn] = await turnsOf(gateway.host);
      const shown = async (query: string) =>
        ((await (await gateway.host.fetch(`/chats/${turn?.chat_id}${query}`)).json()) as { messages: object[] })
          .messages;
      expect(await shown('')).to.deep.equal([]);
      expect(await shown('?include_failed=true')).to.have.length(1);
      expect((await shown('?include_failed=true'))[0]).to.deep.include({ metadata: { turn_status: 'failed' } });
    });

    it('reports the failure of an adapter without its details', async () => {
      const gateway = await start(() => {
        throw new Error('secret of the adapter');
      });
      const body = await (await gateway.process('hi')).text();
      expect(body).to.contain('runner_error').and.not.contain('secret');
    });

    it('replaces a blank answer, and refuses calls from an adapter without tools', async () => {
      const blank = await start(
        (_, call) => (call === 1 ? says('  ') : asksFor([['c', 'x', '{}']])),
        {},
        { toolCall: false },
      );
      expect(((await (await blank.process('hi')).json()) as { reply: string }).reply).to.equal('(empty reply)');
      expect(await errorOf(await blank.process('hi'))).to.include({ status: 502, code: 'provider_invalid_reply' });
      expect(blank.model.requests[0]).to.not.have.property('tools');
    });

    it('runs two turns of one session one after the other', async () => {
      const order: string[] = [];
      const gateway = await start(async function* (request, call, signal) {
        order.push(`begin ${call}`);
        yield* slowly(100, [`answer ${request.messages.length}`], signal);
        order.push(`end ${call}`);
      });
      const [first, second] = await Promise.all([gateway.process('1'), gateway.process('2')]);
      expect([first?.status, second?.status]).to.deep.equal([200, 200]);
      expect(order).to.deep.equal(['begin 1', 'end 1', 'begin 2', 'end 2']);
      const rows = await rowsOf(gateway);
      expect(rows.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user', 'assistant']);
      expect(rows[3]?.content).to.equal('answer 3');
    });

    it('refuses a turn beyond the queue, and one that waits too long', async () => {
      const held = Promise.withResolvers<void>();
      const gateway = await start(
        async function* () {
          await held.promise;
          yield* says('done');
        },
        { env: { MORTISE_AGENT_QUEUE_LIMIT: '1', MORTISE_AGENT_QUEUE_WAIT_SECONDS: '2' } },
      );
      const first = gateway.process('1');
      await until('the turn', () => gateway.model.requests.length === 1);
      const second = gateway.process('2');
      await until('the queue', () => (gateway.host.service('conversation').stats().accepted ?? 0) >= 2);
      const third = await gateway.process('3');
      expect(third.headers.get('retry-after')).to.equal('1');
      expect(await errorOf(third)).to.include({ status: 429, code: 'session_busy' });
      expect(await errorOf(await second)).to.include({ status: 503, code: 'turn_queue_timeout' });
      held.resolve();
      expect((await first).status).to.equal(200);
      expect(gateway.model.requests).to.have.length(1);
    });

    it('refuses a repeated key while its turn is running', async () => {
      const held = Promise.withResolvers<void>();
      const gateway = await start(async function* () {
        await held.promise;
        yield* says('done');
      });
      const headers = { 'idempotency-key': 'k' };
      const first = gateway.process('1', {}, headers);
      await until('the turn', () => gateway.model.requests.length === 1);
      expect(await errorOf(await gateway.process('1', {}, headers))).to.include({
        status: 409,
        code: 'turn_in_progress',
      });
      held.resolve();
      await first;
      expect((await gateway.process('1', {}, headers)).headers.get('x-idempotent-replay')).to.equal('true');
      expect(gateway.model.requests).to.have.length(1);
    });

    it('cancels the turn of a client that disconnects, and stores the text it was sent', async () => {
      const gateway = await start(async function* (_, call, signal) {
        if (call > 1) return yield* says('next');
        yield { type: 'content_delta', text: 'partial' };
        yield* slowly(60_000, ['never'], signal);
      });
      const controller = new AbortController();
      const response = await gateway.host.fetch('/agent/process', {
        method: 'POST',
        signal: controller.signal,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ session_id: 's1', user_id: 'u1', stream: true, input: [] }),
      });
      const reader = response.body?.getReader();
      await reader?.read();
      controller.abort();
      await until('the cancellation', async () => (await turnsOf(gateway.host))[0]?.status === 'cancelled');
      expect(gateway.model.signals[0]?.aborted).to.equal(true);
      expect((await rowsOf(gateway)).at(-1)).to.include({ content: 'partial', status: 'cancelled' });
      expect((await gateway.process('again')).status).to.equal(200);
    });

    it('cancels the turn of a client that disconnects, and never starts a queued one', async () => {
      const gateway = await start((_, __, signal) => slowly(60_000, ['never'], signal));
      const leave = (text: string) => {
        const controller = new AbortController();
        const body = JSON.stringify({
          session_id: 's1',
          user_id: 'u1',
          input: [{ role: 'user', content: [{ type: 'text', text }] }],
        });
        const headers = { 'content-type': 'application/json' };
        gateway.host
          .fetch('/agent/process', { method: 'POST', headers, body, signal: controller.signal })
          .catch(() => undefined);
        return controller;
      };
      const first = leave('1');
      await until('the turn', () => gateway.model.requests.length === 1);
      const second = leave('2');
      await until('the queue', () => gateway.host.service('conversation').stats().accepted === 2);
      second.abort();
      await sleep(50);
      first.abort();
      await until('the cancellation', async () => (await turnsOf(gateway.host))[0]?.status === 'cancelled');
      await until('the free session', () => !gateway.host.service('conversation').busy('console:u1:s1'));
      expect(gateway.model.requests).to.have.length(1);
      expect(await turnsOf(gateway.host)).to.have.length(1);
    });

    it('cancels a turn on request, through its own route', async () => {
      const gateway = await start((_, __, signal) => slowly(60_000, ['never'], signal));
      const asked = gateway.process('hi');
      await until('the turn', () => gateway.model.requests.length === 1);
      const [turn] = await turnsOf(gateway.host);
      const path = `/chats/${turn?.chat_id}/turns/${turn?.turn_id}/cancel`;
      expect(await (await gateway.host.post(path, {})).json()).to.deep.equal({ cancelled: true });
      expect(await errorOf(await asked)).to.include({ status: 409, code: 'turn_cancelled' });
      expect(await (await gateway.host.post(path, {})).json()).to.deep.equal({ cancelled: false });
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'cancelled' });
    });

    it('ends a turn at its time limit', async () => {
      const gateway = await start((_, __, signal) => slowly(60_000, ['never'], signal), {
        env: { MORTISE_AGENT_TURN_TIMEOUT_SECONDS: '0.1' },
      });
      expect(await errorOf(await gateway.process('hi'))).to.include({ status: 504, code: 'agent_turn_timeout' });
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'timed_out' });
    });

    it('does not block the process while a model without streaming works', async () => {
      let ticks = 0;
      const gateway = await start(async function* () {
        const ticker = setInterval(() => {
          ticks += 1;
        }, 10);
        await until('the timers', () => ticks >= 5);
        clearInterval(ticker);
        yield* says('at last');
      });
      expect(((await (await gateway.process('hi')).json()) as { reply: string }).reply).to.equal('at last');
      expect(ticks).to.be.at.least(5);
    });

    it('has no time limit when the setting is 0', async () => {
      const gateway = await start((_, __, signal) => slowly(100, ['in the end'], signal), {
        env: { MORTISE_AGENT_TURN_TIMEOUT_SECONDS: '0' },
      });
      expect(((await (await gateway.process('hi')).json()) as { reply: string }).reply).to.equal('in the end');
    });

    it('ends a turn whose session was taken over, and stores nothing more of it', async () => {
      const gateway = await start((_, call) => (call === 1 ? asksFor([['c', 'steal', '{}']]) : says('never')), {
        extra: [
          {
            isShipped: true,
            manifest: {
              key: 'tool-steal',
              permissions: { services: ['database'], schemas: ['realtime'] },
              contributes: {
                tool: [{ key: 'steal', facts: { summary: 'x', audience: ['agent'], inputSchema: { type: 'object' } } }],
              },
            },
            definition: {
              key: 'tool-steal',
              register: () => undefined,
              start(host) {
                const database = host.use('database');
                host.contribute('tool', 'steal', {
                  summary: 'x',
                  audience: ['agent'],
                  inputSchema: { type: 'object' },
                  async run() {
                    await database.statement("update {realtime.sessions} set lock_token = 'thief'");
                    return {};
                  },
                });
              },
            },
          },
        ],
      });
      expect(await errorOf(await gateway.process('hi'))).to.include({ status: 409, code: 'session_fenced' });
      expect(gateway.model.requests).to.have.length(1);
      expect((await rowsOf(gateway)).map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'fenced' });
    });

    it('keeps a reply whose channel fails, and reports the error after it', async () => {
      const configs: object[] = [];
      const channel = contributing(
        'channel',
        'broken',
        {},
        {
          sendText: ({ config }) => {
            configs.push(config);
            return Promise.reject(new MortiseError('x', 'webhook returned status 500'));
          },
        },
        'channel-broken',
      );
      const gateway = await start(() => says('kept'), { extra: [channel] });
      const business = { channel: { target_id: 'u', url: 'http://elsewhere' } };
      const failed = await gateway.process('hi', { channel: 'broken', biz_params: business });
      expect(configs).to.deep.equal([{ target_id: 'u' }]);
      expect(await errorOf(failed)).to.include({
        status: 502,
        code: 'channel_dispatch_failed',
        message: 'webhook returned status 500',
      });
      const events = (await eventsOf(await gateway.process('hi', { channel: 'broken', stream: true }))) as {
        type: string;
      }[];
      expect(events.slice(-3).map((event) => event.type ?? event)).to.deep.equal(['completed', 'error', '[DONE]']);
      expect((await turnsOf(gateway.host)).map(({ status }) => status)).to.deep.equal(['completed', 'completed']);
    });

    it('reports that the gate refused or put aside a message, and writes nothing', async () => {
      let decision = { action: 'drop', reason: 'override=drop_actor' };
      const gateway = await start(() => says('never'), { extra: [fakeGate(() => decision)] });
      const dropped = await gateway.process('hi', { stream: true }, { 'idempotency-key': 'k' });
      expect(dropped.headers.get('x-gate-action')).to.equal('drop');
      const { status, code, message, details } = await errorOf(dropped);
      expect([status, code, message]).to.deep.equal([
        403,
        'gate_dropped',
        'The message was refused by the gate: override=drop_actor',
      ]);
      expect(details).to.include.keys('action', 'reason', 'reasons', 'scene', 'obs_id', 'trace_id');
      for (const [reason, expected, retry] of [
        ['loop_hops', 422, null],
        ['system_overload', 503, '1'],
        ['stage_failed:x', 503, '5'],
      ] as const) {
        decision = { action: 'drop', reason };
        const response = await gateway.process('hi');
        expect([response.status, response.headers.get('retry-after')]).to.deep.equal([expected, retry]);
      }
      decision = { action: 'sink', reason: 'override=emergency' };
      const sunk = await gateway.process('hi');
      const body = (await sunk.json()) as { gate: object };
      expect(sunk.status).to.equal(202);
      expect(body).to.deep.include({ accepted: true, reply: '', events: [] });
      expect(body.gate).to.include({ action: 'sink', reason: 'override=emergency' });
      const [event, end] = await eventsOf(await gateway.process('hi', { stream: true }));
      expect(event).to.deep.include({ type: 'completed', step: 0, reply: '' });
      expect(end).to.equal('[DONE]');
      expect(await turnsOf(gateway.host)).to.deep.equal([]);
      // A refused request leaves its key free.
      decision = { action: 'deliver', reason: 'message_default' };
      expect((await gateway.process('hi', { stream: true }, { 'idempotency-key': 'k' })).status).to.equal(200);
    });

    it('runs a turn for a published message', async () => {
      const gateway = await start(() => says('answered'));
      const published = gateway.host.service('conversation').publish(
        {
          source_name: 'test:adapter',
          ingress: 'adapter',
          session_key: 'console:u1:s1',
          actor: { actor_type: 'user', actor_id: 'u1' },
          payload: { text: 'from elsewhere' },
        },
        { principal: localPrincipal },
      );
      expect(published.ok).to.equal(true);
      await until('the turn', async () => (await turnsOf(gateway.host))[0]?.status === 'completed');
      expect((await rowsOf(gateway)).map(({ content }) => content)).to.deep.equal(['from elsewhere', 'answered']);
      expect(gateway.host.logs.join('\n')).to.not.contain('a reply was sent to the console');
    });

    it('reports the failure of a turn without a caller, without its text', async () => {
      // biome-ignore lint/correctness/useYield: it fails before its first output
      const script: ModelScript = async function* () {
        throw new MortiseError('llm_refused', 'canary of the model', { status: 400 });
      };
      const gateway = await start(script, { plugins: ['agent', 'channel-console', 'admin'] });
      const conversation = gateway.host.service('conversation');
      const published = conversation.publish(
        {
          source_name: 'test:adapter',
          ingress: 'adapter',
          session_key: 'console:u1:s1',
          actor: { actor_type: 'user', actor_id: 'u1' },
          payload: { text: 'canary of the user' },
        },
        { principal: localPrincipal },
      );
      await until('the fault', () => conversation.session('console:u1:s1')?.error_total === 1);
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'failed' });
      expect(conversation.session('console:u1:s1')?.recent_obs.at(-1)).to.include({ error: 'handler: runner_error' });
      const { obs_id, trace_id } = published.ok ? published.observation : { obs_id: '', trace_id: '' };
      const lines = gateway.host.logs.filter((line) => line.includes('an observation was refused or failed'));
      expect(lines).to.have.length(1);
      const line = JSON.parse(lines[0] ?? '{}');
      expect(line).to.include({ level: 'warn', code: 'worker_error', error: 'runner_error', obs_id, trace_id });
      expect(line).to.not.have.property('stack');
      expect(gateway.host.logs.join('\n')).to.not.contain('canary');
      const metrics = await (await gateway.host.fetch('/metrics')).text();
      expect(metrics).to.match(/mortise_observations_total\{outcome="error"\} 1/);
    });

    it('reports no failure of a turn without a caller that is cancelled', async () => {
      const gateway = await start((_, __, signal) => slowly(60_000, ['never'], signal));
      const conversation = gateway.host.service('conversation');
      const session = { channel: 'console', userId: 'u1', sessionId: 's1' };
      conversation.publish(
        { source_name: 'x', session_key: 'console:u1:s1', payload: { text: 'wait' } },
        { principal: localPrincipal },
      );
      await until('the turn', () => gateway.model.requests.length === 1);
      const sessions = gateway.host.service('sessions');
      const turn = await sessions.runningTurn(session);
      await sessions.cancelTurn(turn?.turnId ?? '');
      await until('the end', () => !conversation.busy('console:u1:s1'));
      expect(conversation.session('console:u1:s1')).to.include({ error_total: 0 });
    });

    it('refuses a key that is bound to another user', async () => {
      const keys = JSON.stringify([{ key: 'key-of-anna', id: 'anna', actor: 'anna' }]);
      const gateway = await start(() => says('ok'), { env: { MORTISE_API_KEYS: keys } });
      const headers = { 'x-api-key': 'key-of-anna' };
      expect(await errorOf(await gateway.process('hi', {}, headers))).to.include({
        status: 403,
        code: 'actor_mismatch',
      });
      expect((await gateway.process('hi', { user_id: 'anna' }, headers)).status).to.equal(200);
      expect((await gateway.process('hi', { user_id: 'anna' })).status).to.equal(401);
    });

    it('puts the layers of prompt sources first, and leaves out an optional one that fails', async () => {
      const gateway = await start(() => says('ok'), {
        extra: [
          promptSource('second', 2, true, 'two'),
          promptSource('first', 1, true, 'one'),
          promptSource('third', 3, false),
        ],
      });
      expect((await gateway.process('hi')).status).to.equal(200);
      expect(gateway.model.requests[0]?.messages.map(({ content }) => content)).to.deep.equal(['one', 'two', 'hi']);
    });

    it('asks each prompt source once for a message, and again when a turn has ended in between', async () => {
      const built: (readonly [session: unknown, text: unknown])[] = [];
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      const counting = contributing(
        'prompt-source',
        'counting',
        { summary: 'Made by a test.', order: 1, required: true },
        {
          async build({ sessionId, userText }) {
            built.push([sessionId, userText]);
            if (userText === 'early') await held;
            return [];
          },
        },
      );
      const gateway = await start(() => says('ok'), { extra: [counting] });
      await gateway.process('one');
      await gateway.process('two');
      expect(built).to.deep.equal([
        ['s1', 'one'],
        ['s1', 'two'],
      ]);
      const early = gateway.process('early');
      await until('the prompt is being built', () => built.length === 3);
      await gateway.process('late');
      release();
      expect((await early).status).to.equal(200);
      expect(built.slice(2).map(([, text]) => text)).to.deep.equal(['early', 'late', 'early']);
    });

    it('writes nothing when a required layer is missing', async () => {
      const gateway = await start(() => says('ok'), { extra: [promptSource('needed', 1, true)] });
      expect(await errorOf(await gateway.process('hi'))).to.include({ status: 500, code: 'ai_tool_guide_unavailable' });
      expect(gateway.model.requests).to.have.length(0);
      expect(await turnsOf(gateway.host)).to.deep.equal([]);
    });

    it('ends running turns as interrupted when the server stops, and ends their streams', async () => {
      const dataDir = temporaryPath('gateway');
      const gateway = await start((_, __, signal) => slowly(60_000, ['never'], signal), { dataDir });
      const response = await gateway.process('hi', { stream: true });
      const events = eventsOf(response);
      await until('the turn', () => gateway.model.requests.length === 1);
      await gateway.host.stop();
      expect(await events).to.deep.equal([
        { type: 'step_started', step: 1 },
        { type: 'error', meta: { code: 'server_shutdown', message: 'the server is shutting down' } },
        '[DONE]',
      ]);
      const next = await start(() => says('next'), { dataDir });
      expect((await turnsOf(next.host))[0]).to.include({ status: 'interrupted' });
      expect((await next.process('again')).status).to.equal(200);
    });
  });
});
