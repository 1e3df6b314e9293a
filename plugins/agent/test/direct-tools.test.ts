import { expect } from 'chai';
import { errorOf, eventsOf } from 'mortise/contracts/agent/testing';
import { MortiseError, type Tool } from 'mortise/sdk';
import { oneDatabase, type TestPlugin, until } from 'mortise/sdk/testing';
import { type Gateway, openGateway, turnsOf } from './gateway.js';

const items = {
  type: 'object',
  required: ['items'],
  properties: { items: { type: 'array', minItems: 1, items: { type: 'object' } } },
};

function contributes(name: string, value: Partial<Tool> & Pick<Tool, 'run'>): TestPlugin {
  const facts = { summary: 'Made by a test.', audience: ['agent' as const], inputSchema: { type: 'object' }, ...value };
  const { run: _, visibleTo: __, normalise: ___, explain: ____, ...data } = facts;
  return {
    manifest: { key: `tool-${name}`, contributes: { tool: [{ key: name, facts: data }] } },
    definition: { key: `tool-${name}`, register: (host) => void host.contribute('tool', name, facts) },
  };
}

describe('direct tool calls', () => {
  oneDatabase((engine) => {
    let gateway: Gateway;
    const calls: object[] = [];

    const shell = contributes('shell', {
      inputSchema: items,
      run: ({ items }, { caller, session }) => {
        calls.push({ items, caller, turn: session?.turnId.slice(0, 5) });
        return { text: `$ ${(items as { command: string }[]).map(({ command }) => command).join(';')}\nhi` };
      },
    });
    const view = contributes('view', { inputSchema: items, run: () => ({ text: 'seen' }) });
    const refuses = contributes('refuses', {
      run: () => {
        throw new MortiseError('tool_conflict', 'it is already running');
      },
    });
    const breaks = contributes('breaks', {
      run: () => {
        throw new Error('a path of the machine');
      },
    });
    const plain = contributes('plain', {
      inputSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['input'],
        properties: { input: { type: 'object' }, times: { type: 'integer' } },
      },
      normalise: () => ({ input: {}, times: 99 }),
      run: (args) => args,
    });

    before(async () => {
      gateway = await openGateway(engine, {
        plugins: ['agent', 'provider-demo', 'channel-console', 'gate', 'logbook', 'realtime'],
        env: { MORTISE_DISABLED_TOOLS: 'edit, find', MORTISE_TOOL_RATE_LIMITS: '{"view":"2/60"}' },
        extra: [
          shell,
          view,
          refuses,
          breaks,
          plain,
          contributes('worded', {
            inputSchema: { type: 'object', required: ['path'] },
            explain: () => 'tool input path is required',
            run: () => ({}),
          }),
          contributes('private', { visibleTo: () => false, run: () => ({}) }),
          contributes('edit', { run: () => ({}) }),
          contributes('later', { audience: ['mcp'], run: () => ({}) }),
        ],
      });
    });

    afterEach(async () => {
      calls.length = 0;
      const chats = (await (await gateway.host.fetch('/chats')).json()) as { id: string }[];
      await gateway.host.post(
        '/chats/batch-delete',
        chats.map(({ id }) => id).filter((id) => id !== 'chat-default'),
      );
    });

    after(() => gateway.host.stop());

    const named = (tool: unknown) => ({ biz_params: { tool } });
    const refusal = async (extra: object) => errorOf(await gateway.process('x', extra));

    it('run without a model, and are stored like any round', async () => {
      const events = (await eventsOf(
        await gateway.process('x', { shell: [{ command: 'echo hi' }], stream: true }),
      )) as { type: string; delta?: string; meta?: object }[];
      expect(events.map((event) => event.type ?? event)).to.deep.equal([
        'step_started',
        'tool_call',
        'tool_result',
        'assistant_delta',
        'completed',
        '[DONE]',
      ]);
      expect(events[1]).to.deep.include({ tool_call: { name: 'shell', input: { items: [{ command: 'echo hi' }] } } });
      expect(events[2]).to.deep.include({ tool_result: { name: 'shell', ok: true, summary: '$ echo hi\nhi' } });
      expect(events[4]).to.deep.include({ step: 1, reply: '$ echo hi\nhi' });
      expect(events[4]?.meta).to.not.have.property('model');
      expect(calls).to.deep.equal([{ items: [{ command: 'echo hi' }], caller: 'direct', turn: 'turn-' }]);
      const { messages } = await gateway.host
        .service('sessions')
        .display({ session: { channel: 'console', userId: 'u1', sessionId: 's1' } });
      expect(messages.map(({ role, content }) => [role, content])).to.deep.equal([
        ['user', 'x'],
        ['assistant', ''],
        ['tool', '$ echo hi\nhi'],
        ['assistant', '$ echo hi\nhi'],
      ]);
      expect((await turnsOf(gateway.host))[0]).to.include({ status: 'completed', steps: 1 });
      const { reply } = (await (await gateway.process('and now', {})).json()) as { reply: string };
      expect(reply).to.equal('Echo: x and now');
    });

    it('cut their text into deltas of twelve characters, streamed or not', async () => {
      const call = { shell: [{ command: 'one two three' }] };
      const deltas = (events: unknown[]) => events.flatMap((event) => (event as { delta?: string }).delta ?? []);
      const whole = (await (await gateway.process('x', call)).json()) as { events: unknown[] };
      const streamed = await eventsOf(await gateway.process('x', { ...call, stream: true }));
      expect(deltas(whole.events)).to.deep.equal(['$ one two th', 'ree\nhi']);
      expect(deltas(streamed)).to.deep.equal(['$ one two th', 'ree\nhi']);
    });

    it('are accepted in four forms, with their input in any of its places', async () => {
      const command = { command: 'pwd' };
      for (const extra of [
        named({ name: 'shell', items: [command] }),
        named({ name: 'shell', input: { items: [command] } }),
        named({ name: 'shell', input: { arguments: '{"args":{"items":[{"command":"pwd"}]}}' } }),
        named({ name: 'shell', input: [command] }),
        { shell: [command] },
        { shell: { items: [command] } },
        { shell: { input: command } },
        { shell: command },
        { shell: null, ...named({ name: 'shell', items: [command] }) },
        { shell: [command], view: null, unheard: [command], later: [command] },
        { view: [command], ...named({ name: 'shell', items: [command] }) },
      ]) {
        expect((await gateway.process('x', extra)).status, JSON.stringify(extra)).to.equal(200);
      }
      expect(calls).to.have.length(11);
      for (const call of calls) expect(call).to.deep.include({ items: [command] });
    });

    it('need no message text', async () => {
      expect((await gateway.process('', { shell: [{ command: 'pwd' }], input: [] })).status).to.equal(200);
    });

    it('keep a wrapper member that the schema declares, and pass the arguments on unchanged', async () => {
      const input = { input: { a: 1 } };
      const { reply } = (await (await gateway.process('x', { plain: input })).json()) as { reply: string };
      expect(JSON.parse(reply)).to.deep.equal(input);
    });

    it('are refused when they are malformed, before anything is written', async () => {
      const nothing = 'tool input items must be a non-empty array of objects';
      for (const [extra, message] of [
        [named('shell'), 'biz_params.tool must be an object'],
        [named(null), 'biz_params.tool must be an object'],
        [named({}), 'biz_params.tool.name is required'],
        [named({ name: 7 }), 'biz_params.tool.name must be a string'],
        [named({ name: ' ' }), 'biz_params.tool.name cannot be empty'],
        [named({ name: 'shell', input: 7 }), 'tool input must be an object or an array'],
        [{ shell: 'pwd' }, 'shell must be an object or array'],
        [{ shell: [{ command: 'pwd' }], view: [{}] }, 'only one shortcut tool key is allowed'],
        [{ view: { input: { path: '/x', start: 1, end: 2 } } }, nothing],
        [{ view: { command: 'pwd' } }, nothing],
        [{ view: [] }, nothing],
        [{ view: ['x'] }, nothing],
        [{ shell: {} }, nothing],
      ] as const) {
        expect(await refusal(extra), message).to.deep.equal({ status: 400, code: 'invalid_tool_input', message });
      }
      const wrong = await refusal({ plain: { input: {}, times: 'x' } });
      expect(wrong).to.include({ status: 400, code: 'invalid_tool_input' });
      expect(wrong.message).to.match(/times/);
      expect(await refusal({ worded: {} })).to.include({ message: 'tool input path is required' });
      expect(await refusal({ private: {} })).to.include({ message: 'tool "private" is not supported' });
      expect(await refusal({ view: { items: 'x' } })).to.deep.equal({
        status: 502,
        code: 'tool_invoke_failed',
        message: 'tool "view" invocation failed',
      });
      for (const name of ['unheard', 'later']) {
        expect(await refusal(named({ name }))).to.deep.equal({
          status: 400,
          code: 'tool_not_supported',
          message: `tool "${name}" is not supported`,
        });
      }
      expect(await (await gateway.host.fetch('/chats?user_id=u1')).json()).to.deep.equal([]);
    });

    it('are refused and audited when the tool is disabled', async () => {
      for (const extra of [{ edit: [{}] }, named({ name: 'edit' })]) {
        expect(await refusal(extra)).to.deep.equal({
          status: 403,
          code: 'tool_disabled',
          message: 'tool "edit" is disabled by server config',
          details: { tool: 'edit' },
        });
      }
      const audited = async () => {
        const { rows } = await gateway.host.app.database
          .forPlugin('probe', ['governance'])
          .statement<{ reason: string }>("select reason from {governance.write_audit} where reason = 'forbidden:edit'");
        return rows.length > 0;
      };
      await until('the audit row', audited, 10_000);
    });

    it('return the error, and store a failed turn', async () => {
      expect(await refusal({ refuses: {} })).to.deep.equal({
        status: 409,
        code: 'tool_conflict',
        message: 'it is already running',
      });
      expect(await refusal({ breaks: {} })).to.deep.equal({
        status: 502,
        code: 'tool_invoke_failed',
        message: 'tool "breaks" invocation failed',
      });
      expect((await turnsOf(gateway.host)).map(({ status }) => status)).to.deep.equal(Array(2).fill('failed'));
      const events = await eventsOf(await gateway.process('x', { refuses: {}, stream: true }));
      expect(events.slice(-2)).to.deep.equal([
        { type: 'error', meta: { code: 'tool_conflict', message: 'it is already running' } },
        '[DONE]',
      ]);
    });

    it('count against the limit of their caller', async () => {
      const view = () => gateway.process('x', { view: [{ path: '/x' }] });
      expect([(await view()).status, (await view()).status]).to.deep.equal([200, 200]);
      expect(await errorOf(await view())).to.include({ status: 429, code: 'rate_limited' });
    });
  });
});
