import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorOf, eventsOf, user } from 'mortise/contracts/agent/testing';
import { createGate, type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { createTestHost, oneDatabase, type TestHost, until } from 'mortise/sdk/testing';

const plugins = [
  'admin',
  'agent',
  'channel-console',
  'channel-webhook',
  'channels',
  'models',
  'prompts',
  'provider-demo',
  'provider-openai',
  'tool-files',
  'tool-shell',
];

interface Chat {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
}

interface ShownEvent {
  readonly type: string;
  readonly step?: number;
  readonly delta?: string;
  readonly reply?: string;
  readonly tool_call?: object;
  readonly tool_result?: { readonly name: string; readonly ok: boolean };
  readonly meta?: { readonly code?: string };
}

interface Reply {
  readonly reply: string;
  readonly events: readonly ShownEvent[];
}

/** Events with adjacent deltas merged and without turn ids. */
function joined(events: readonly ShownEvent[]): readonly object[] {
  const whole: ShownEvent[] = [];
  for (const event of events) {
    const last = whole.at(-1);
    if (event.type === 'assistant_delta' && last?.type === 'assistant_delta' && last.step === event.step) {
      whole.splice(-1, 1, { ...last, delta: `${last.delta}${event.delta}` });
    } else whole.push(event);
  }
  return whole.map((event) => {
    const { turn_id: _, ...meta } = { turn_id: '', ...event.meta };
    return { ...event, meta };
  });
}

describe('the agent gateway as shipped', () => {
  for (const variable of ['MORTISE_API_KEY', 'NEXTAI_API_KEY']) {
    it(`A01 A02 A03 requires the key of ${variable} on all but public routes`, async () => {
      const host = await createTestHost({ plugins, env: { [variable]: 'k' } });
      const get = (path: string, headers = {}) => host.fetch(path, { headers });
      try {
        expect(await (await get('/healthz')).json()).to.deep.equal({ ok: true });
        const { version } = (await (await get('/version')).json()) as { version: string };
        expect(version).to.match(/^\d+\.\d+\.\d+/);
        const { features } = (await (await get('/runtime-config')).json()) as { features: object };
        expect(Object.values(features)).to.deep.equal([false, false, false]);
        expect(await errorOf(await get('/chats'))).to.deep.include({
          status: 401,
          code: 'unauthorized',
          message: 'missing or invalid api key',
        });
        for (const headers of [{ 'x-api-key': 'k' }, { authorization: 'bearer k' }]) {
          expect((await get('/chats', headers)).status).to.equal(200);
        }
      } finally {
        await host.stop();
      }
    });
  }

  oneDatabase((engine) => {
    let host: TestHost;
    let upstream: FakeOpenAi;

    before(async () => {
      upstream = await startFakeOpenAi();
      host = await createTestHost({
        plugins,
        database: engine.env,
        env: { OPENAI_API_KEY: 'sk-acceptance-0123456789', OPENAI_BASE_URL: upstream.baseUrl },
      });
    });

    afterEach(async () => {
      upstream.clear();
      await put('/models/active', { provider_id: 'demo', model: 'demo-chat' });
      const ids = (await chats()).map(({ id }) => id).filter((id) => id !== 'chat-default');
      await host.post('/chats/batch-delete', ids);
    });

    after(async () => {
      await host.stop();
      await upstream.stop();
    });

    const get = async <T>(path: string): Promise<T> => (await (await host.fetch(path)).json()) as T;
    const put = (path: string, body: object) =>
      host.fetch(path, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const chats = () => get<Chat[]>('/chats');
    const named = { session_id: 's1', user_id: 'u1', channel: 'console' };
    const process = (text: string, extra: object = {}, headers: Record<string, string> = {}) =>
      host.post('/agent/process', { ...named, input: [user(text)], ...extra }, headers);
    const ask = async (text: string, extra: object = {}) => (await (await process(text, extra)).json()) as Reply;
    const direct = (extra: object) => host.post('/agent/process', { ...named, ...extra });
    const useFake = () => put('/models/active', { provider_id: 'openai', model: 'gpt-4o-mini' });
    const current = async () => (await chats()).find(({ id }) => id !== 'chat-default');
    const messages = async () => {
      const chat = await get<{ messages: { role: string; content: { text: string }[] }[] }>(
        `/chats/${(await current())?.id}`,
      );
      return chat.messages.map(({ role, content }) => [role, content.map(({ text }) => text).join('')]);
    };
    const statuses = async () =>
      (await get<{ status: string }[]>(`/chats/${(await current())?.id}/turns`)).map(({ status }) => status);

    it('A04 refuses a page of another origin before a turn starts', async () => {
      const body = { ...named, input: [user('x')] };
      expect(await errorOf(await host.post('/agent/process', body, { origin: 'http://evil.example' }))).to.include({
        status: 403,
        code: 'origin_not_allowed',
      });
      expect(await current()).to.equal(undefined);
    });

    const refusals: readonly (readonly [id: string, path: string, body: unknown, error: object])[] = [
      [
        'A06',
        '/chats',
        { name: 'x' },
        { status: 400, code: 'invalid_chat', message: 'session_id, user_id, channel are required' },
      ],
      [
        'A16',
        '/agent/process',
        { session_id: 's1', input: [] },
        { status: 400, code: 'invalid_request', message: 'session_id and user_id are required' },
      ],
      ['A17', '/agent/process', { ...named, channel: 'sms' }, { status: 400, code: 'channel_not_supported' }],
      ['A17', '/agent/process', { ...named, channel: 'webhook' }, { status: 400, code: 'channel_disabled' }],
      [
        'A18',
        '/agent/process',
        { ...named, input: 'hi' },
        { status: 400, code: 'invalid_json', message: 'invalid request body' },
      ],
      [
        'A21',
        '/agent/process',
        { ...named, view: { input: { path: '/x', start: 1, end: 2 } } },
        { status: 400, code: 'invalid_tool_input', message: 'tool input items must be a non-empty array of objects' },
      ],
      [
        'A22',
        '/agent/process',
        { ...named, view: [{ path: '/etc/passwd', start: 1, end: 2 }] },
        { status: 400, code: 'invalid_tool_input', message: 'tool input path is invalid' },
      ],
      [
        'A24',
        '/agent/process',
        { ...named, view: [{ path: '/x', start: 1, end: 1 }], shell: [{ command: 'true' }] },
        { status: 400, message: 'only one shortcut tool key is allowed' },
      ],
    ];
    it('A06 A16 A17 A18 A21 A22 A24 refuses malformed requests with a readable message', async () => {
      for (const [id, path, body, error] of refusals) {
        expect(await errorOf(await host.post(path, body)), id).to.deep.include(error);
      }
    });

    it('A05 refuses a content type other than JSON', async () => {
      const headers = { 'content-type': 'text/plain' };
      const sent = await host.fetch('/agent/process', { method: 'POST', headers, body: '{}' });
      expect(await errorOf(sent)).to.include({ status: 415, code: 'unsupported_media_type' });
    });

    it('A07 A08 creates a chat with all its members, and overwrites it by id', async () => {
      const made = (await (await host.post('/chats', named)).json()) as Chat;
      expect(made).to.have.all.keys(
        ...['id', 'name', 'session_id', 'user_id', 'channel', 'created_at', 'updated_at', 'meta'],
      );
      expect(made).to.deep.include({ name: 'New Chat', meta: {} });
      expect(made.id).to.match(/^chat-\d{19}$/);
      await ask('kept');
      const again = (await (await host.post('/chats', { ...named, id: made.id, name: 'B' })).json()) as Chat;
      expect(again).to.deep.include({ id: made.id, name: 'B', created_at: made.created_at });
      expect(await messages()).to.have.length(2);
    });

    it('A09 A10 does not delete the default chat, and reports an unknown chat', async () => {
      const { id } = (await (await host.post('/chats', named)).json()) as Chat;
      expect(await errorOf(await host.post('/chats/batch-delete', ['chat-default', id]))).to.include({
        status: 400,
        code: 'default_chat_protected',
      });
      expect((await host.fetch(`/chats/${id}`)).status).to.equal(200);
      for (const method of ['GET', 'DELETE']) {
        expect(await errorOf(await host.fetch('/chats/nope', { method }))).to.deep.equal({
          status: 404,
          code: 'not_found',
          message: 'chat not found',
          details: { chat_id: 'nope' },
        });
      }
    });

    it('A11 A12 answers in one body and as a stream', async () => {
      const whole = await ask('hello smoke');
      expect(Object.keys(whole)).to.deep.equal(['reply', 'events']);
      expect(whole.reply).to.equal('Echo: hello smoke');
      const shape = (events: readonly (ShownEvent | string)[]) =>
        events.map((one) => (typeof one === 'string' ? one : (one.delta ?? one.type)));
      expect(shape(whole.events)).to.deep.equal(['step_started', 'Echo: hello ', 'smoke', 'completed']);
      await process('/new');
      const events = (await eventsOf(await process('hello smoke', { stream: true }))) as ShownEvent[];
      expect(shape(events)).to.deep.equal(['step_started', 'Echo: hello smoke', 'completed', '[DONE]']);
      expect((await messages()).map(([role]) => role)).to.deep.equal(['user', 'assistant']);
    });

    it('A13 A14 splits text between characters, names the chat, and sends earlier turns', async () => {
      const { events } = await ask('你好，做个自我介绍');
      expect(events.flatMap(({ delta }) => delta ?? [])).to.deep.equal(['Echo: 你好，做个自', '我介绍']);
      expect((await current())?.name).to.equal('你好，做个自我介绍');
      await process('/new');
      await ask('one');
      expect((await ask('two')).reply).to.equal('Echo: one two');
    });

    it('A15 starts a new chat', async () => {
      await ask('before');
      const before = (await current())?.id;
      const { reply, events } = await ask('  /NEW ');
      expect(reply).to.equal('上下文已清理，已开始新会话。');
      expect(events.map(({ type, step }) => [type, step])).to.deep.equal([
        ['step_started', 1],
        ['assistant_delta', 1],
        ['completed', 1],
      ]);
      expect((await ask('x')).reply).to.equal('Echo: x');
      expect((await current())?.id).to.not.equal(before);
    });

    it('A19 A20 runs a tool directly', async () => {
      const call = { shell: [{ command: 'echo hi' }], stream: true };
      const events = (await eventsOf(await direct(call))) as ShownEvent[];
      expect(events.map((event) => event.type ?? event)).to.deep.equal([
        ...['step_started', 'tool_call', 'tool_result', 'assistant_delta', 'completed', '[DONE]'],
      ]);
      expect(events[1]?.tool_call).to.deep.include({ name: 'shell' });
      expect(events[2]?.tool_result).to.deep.include({ name: 'shell', ok: true });
      expect(events[4]?.reply).to.equal('$ echo hi\nhi');
      const failed = await direct({ shell: { input: { command: 'exit 3' } } });
      expect(failed.status).to.equal(200);
      const body = (await failed.json()) as Reply;
      expect(body.reply).to.match(/\(command exited with code 3\)$/);
      expect(body.events.find(({ type }) => type === 'tool_result')?.tool_result?.ok).to.equal(true);
    });

    it('A23 does not write through a link that leads out of the workspace', async () => {
      const outside = join(host.dataDir, 'data', 'outside');
      await mkdir(outside);
      await writeFile(join(outside, 'x'), 'old\n');
      await symlink(outside, join(host.dataDir, 'l'));
      const edit = [{ path: join(host.dataDir, 'l', 'x'), start: 1, end: 1, content: 'new' }];
      expect(await errorOf(await direct({ edit }))).to.deep.include({
        status: 400,
        code: 'invalid_tool_input',
        message: 'tool input path is invalid',
      });
    });

    it('A29 ends a turn after fifty steps', async () => {
      await useFake();
      let step = 0;
      upstream.always(() => {
        step += 1;
        return openAi.asksFor([`call_${step}`, 'find', JSON.stringify({ path: 'plugins.json', pattern: `p${step}` })]);
      });
      expect(await errorOf(await process('go'))).to.deep.equal({
        status: 422,
        code: 'agent_step_limit',
        message: 'agent step limit reached (50)',
        details: { max_steps: 50 },
      });
      expect(upstream.requests).to.have.length(50);
      const events = (await eventsOf(
        await process('go', { stream: true, biz_params: { max_steps: 2 } }),
      )) as ShownEvent[];
      expect(events.slice(-2).map((event) => event.meta?.code ?? event)).to.deep.equal(['agent_step_limit', '[DONE]']);
      expect(await statuses()).to.deep.equal(['step_limit', 'step_limit']);
      const limit = ['assistant', "I've reached the maximum number of tool calls. Please try again."];
      expect(await messages()).to.deep.equal([['user', 'go'], limit, ['user', 'go'], limit]);
    });

    it('A64 runs two turns of a session sequentially', async () => {
      await useFake();
      const gate = createGate();
      const slow = async function* () {
        await gate.opened;
        yield openAi.chunk({ content: '1’' });
        yield openAi.chunk({}, 'stop');
        yield openAi.endMark;
      };
      upstream.answer(openAi.streamsFrom(slow), openAi.says('2’'));
      const first = process('1', { stream: true });
      await until('the first request', () => upstream.requests.length === 1);
      const second = process('2');
      await until('the second turn', () => (host.service('conversation').stats().accepted ?? 0) >= 2);
      expect(upstream.requests).to.have.length(1);
      gate.open();
      await (await first).text();
      await (await second).text();
      expect((await messages()).map(([, text]) => text)).to.deep.equal(['1', '1’', '2', '2’']);
    });

    it('A65 runs a request with an idempotency key once', async () => {
      await useFake();
      upstream.answer(openAi.says('once'));
      const first = await process('hi', {}, { 'idempotency-key': 'k' });
      const again = await process('hi', {}, { 'idempotency-key': 'k' });
      expect(await again.text()).to.equal(await first.text());
      expect(again.headers.get('x-idempotent-replay')).to.equal('true');
      expect(upstream.requests).to.have.length(1);
    });

    it('counts the tokens of turns by provider and model', async () => {
      await useFake();
      const counted = async (name: string) => {
        const text = await (await host.fetch('/metrics')).text();
        const own = `mortise_${name}_tokens_total{`;
        const line = text.split('\n').find((one) => one.startsWith(own) && one.includes('model="gpt-4o-mini"'));
        return Number(line?.split(' ').at(-1) ?? 0);
      };
      const before = [await counted('prompt'), await counted('completion')];
      upstream.always(openAi.completes({ text: ['ok'], usage: { prompt: 9, completion: 3 } }));
      await ask('hi');
      expect([await counted('prompt'), await counted('completion')]).to.deep.equal([
        (before[0] ?? 0) + 9,
        (before[1] ?? 0) + 3,
      ]);
    });

    it('has the same events with and without streaming, except for the boundaries of deltas', async () => {
      await useFake();
      const call = (id: string, text: string) => openAi.asksFor([id, 'shell', JSON.stringify({ command: text })]);
      const scripts = [
        () => [openAi.says('Hel', 'lo ', 'there, this is long')],
        () => [call('c1', 'echo a'), openAi.says('done')],
        () => [call('c1', 'exit 3'), call('c2', 'echo b'), openAi.says('two ', 'tools')],
        () => [
          openAi.asksFor(['c1', 'shell', '{"command":"echo 1"}'], ['c2', 'shell', '{"command":"echo 2"}']),
          openAi.says('both'),
        ],
        () => [openAi.asksFor(['c1', 'shell', 'not json']), openAi.says('sorry')],
        () => [openAi.asksFor(['c1', 'no_such_tool', '{}']), openAi.says('none')],
        () => [openAi.says('你好，'.repeat(9))],
      ];
      for (const [index, script] of scripts.entries()) {
        const turn = async (stream: boolean) => {
          upstream.clear();
          upstream.answer(...script());
          const response = await process('go', { session_id: `${index}-${stream}`, stream });
          if (stream) return joined(((await eventsOf(response)) as ShownEvent[]).slice(0, -1));
          return joined(((await response.json()) as Reply).events);
        };
        expect(await turn(true), String(index)).to.deep.equal(await turn(false));
      }
    });

    it('A69 logs neither the text of a message nor a key', async () => {
      await ask('hello canary-text');
      await put('/models/openai/config', { api_key: 'sk-canary-key-0123456789' });
      const lines = host.logs.join('\n');
      expect(lines).to.contain('/agent/process');
      expect(lines).to.not.contain('canary');
    });
  });
});
