import { expect } from 'chai';
import { asksFor, errorOf, fakeModel, fakeTool, inTurn, says } from 'mortise/contracts/agent/testing';
import type { ToolFacts } from 'mortise/sdk';
import { oneDatabase, type TestPlugin, until } from 'mortise/sdk/testing';
import { type Gateway, openGateway, promptSource } from './gateway.js';

const items = {
  type: 'object',
  required: ['items'],
  properties: { items: { type: 'array', minItems: 1, items: { type: 'object' } } },
};

describe('the tools of a turn', () => {
  oneDatabase((engine) => {
    let gateway: Gateway;
    const calls: [tool: string, args: object][] = [];
    let script: ReturnType<typeof inTurn> = inTurn(() => says('ok'));
    const model = fakeModel((request, call, signal) => script(request, call, signal));

    const native = (name: string, facts: Partial<ToolFacts> = {}): TestPlugin =>
      fakeTool(
        name,
        (args) => {
          calls.push([name, args]);
          return { text: `${name} ran` };
        },
        { inputSchema: items, ...facts },
      );
    const forMode = (mode: string, key: string): TestPlugin => {
      const plugin = promptSource(key, 1, true, 'prompt');
      const [source] = plugin.manifest.contributes?.['prompt-source'] ?? [];
      Object.assign((source as { facts: object }).facts, { modes: [mode] });
      return plugin;
    };

    before(async () => {
      gateway = await openGateway(engine, {
        model,
        plugins: ['agent', 'channel-console', 'logbook'],
        env: { MORTISE_DISABLED_TOOLS: 'find, secret' },
        extra: [
          native('view', { capabilities: ['read', 'open_local'] }),
          native('shell', { capabilities: ['execute'] }),
          native('find', { capabilities: ['read', 'file_search'] }),
          native('browser'),
          native('search', { capabilities: ['network', 'web_search'] }),
          native('claude_read', { inputSchema: { type: 'object' }, builtOn: ['view'], modes: ['claude'] }),
          native('claude_grep', { inputSchema: { type: 'object' }, builtOn: ['find'], modes: ['claude'] }),
          native('exec_command', { inputSchema: { type: 'object' }, builtOn: ['shell'], modes: ['codex'] }),
          native('request_user_input', {
            inputSchema: { type: 'object' },
            modes: ['codex'],
            collaborationModes: ['Plan'],
          }),
          forMode('codex', 'codex-prompt'),
          forMode('claude', 'claude-prompt'),
        ],
      });
    });
    after(() => gateway.host.stop());
    beforeEach(() => {
      calls.length = 0;
      model.requests.length = 0;
    });

    const offered = async (extra: object) => {
      script = inTurn(() => says('ok'));
      const response = await gateway.process('hi', { session_id: JSON.stringify(extra), ...extra });
      expect(response.status).to.equal(200);
      return model.requests.at(-1)?.tools?.map(({ name }) => name);
    };
    const called = async (name: string, args: object | string, extra: object = {}) => {
      script = inTurn(
        () => asksFor([['c', name, typeof args === 'string' ? args : JSON.stringify(args)]]),
        () => says('ok'),
      );
      model.requests.length = 0;
      const { events } = (await (await gateway.process('go', { session_id: 'calls', ...extra })).json()) as {
        events: { type: string; tool_call?: object; tool_result?: { ok: boolean; summary: string } }[];
      };
      const find = (type: string) => events.find((event) => event.type === type);
      return { call: find('tool_call')?.tool_call, result: find('tool_result')?.tool_result };
    };

    it('depend on the prompt mode, without disabled tools and tools built on them', async () => {
      const every = ['browser', 'click', 'open', 'screenshot', 'search', 'shell', 'view'];
      expect(await offered({})).to.deep.equal(every);
      expect(await offered({ biz_params: { prompt_mode: 'codex' } })).to.deep.equal([...every, 'exec_command'].sort());
      expect(await offered({ biz_params: { prompt_mode: 'claude' } })).to.deep.equal(
        [...every, 'Bash', 'Read', 'WebFetch', 'WebSearch'].sort(),
      );
    });

    it('are found under other names with other arguments, and keep the name in the event', async () => {
      const { call, result } = await called('view_file_lines', { path: '/x', start_line: 1, end_line: 2 });
      expect(call).to.deep.include({ name: 'view_file_lines' });
      expect(result).to.deep.equal({ name: 'view_file_lines', ok: true, summary: 'view ran' });
      await called('functions.shell', { cmd: 'ls' });
      await called('exec_command', { cmd: 'ls' });
      await called('shell', { command: 'ls', tty: true });
      await called('open', { url: 'https://example.com' });
      expect(calls.slice(0, 4)).to.deep.equal([
        ['view', { items: [{ path: '/x', start: 1, end: 2 }] }],
        ['shell', { items: [{ command: 'ls' }] }],
        ['exec_command', { cmd: 'ls' }],
        ['exec_command', { command: 'ls', tty: true }],
      ]);
      expect(calls[4]?.[0]).to.equal('browser');
    });

    it('of Claude exist in Claude mode alone', async () => {
      const claude = { session_id: 'c', biz_params: { prompt_mode: 'claude' } };
      expect((await called('Read', { file_path: 'x' }, claude)).result).to.include({ ok: true });
      expect((await called('Bash', { command: 'ls' }, claude)).result).to.include({ ok: true });
      expect(calls).to.deep.equal([
        ['claude_read', { file_path: 'x' }],
        ['shell', { items: [{ command: 'ls' }] }],
      ]);
      for (const name of ['Read', 'Bash', 'claude_read']) {
        expect((await called(name, { file_path: 'x' })).result, name).to.deep.include({ ok: false });
        expect(await errorOf(await gateway.process('x', { biz_params: { tool: { name } } }))).to.include({
          code: 'tool_not_supported',
        });
      }
      expect((await called('Grep', {}, claude)).result?.summary).to.match(/^tool_disabled/);
    });

    it('that are limited to a collaboration mode are refused elsewhere', async () => {
      const codex = { biz_params: { prompt_mode: 'codex' }, session_id: 'p' };
      const { call, result } = await called('request_user_input', { questions: [] }, codex);
      expect(call).to.deep.include({ input: { questions: [], request_id: 'c' } });
      expect(result?.summary).to.match(/^tool_not_available: tool "request_user_input" is not available: ./);
      await gateway.host.post('/chats', {
        session_id: 'planned',
        user_id: 'u1',
        channel: 'console',
        meta: { collaboration_mode: 'Plan', prompt_mode: 'codex' },
      });
      expect((await called('request_user_input', {}, { session_id: 'planned' })).result).to.include({ ok: true });
      expect(model.requests[0]?.tools?.map(({ name }) => name)).to.include('request_user_input');
    });

    it('may be described by the request, and run through a tool of the gateway', async () => {
      const biz_params = {
        runtime_tools: [
          { name: 'peek', description: 'Peeks.', gateway_tool: 'view', gateway_input: { start: 1, end: 2 } },
          { name: 'blocked', gateway_tool: 'find' },
          { name: 'lost' },
          { name: 'view', description: 'not ours' },
        ],
      };
      const { result } = await called('peek', { path: '/x' }, { biz_params });
      expect(result).to.include({ ok: true });
      expect(calls).to.deep.equal([['view', { items: [{ start: 1, end: 2, path: '/x' }] }]]);
      const tools = model.requests[0]?.tools ?? [];
      expect(tools.map(({ name }) => name)).to.include.members(['peek', 'lost']);
      expect(tools.find(({ name }) => name === 'view')?.description).to.not.equal('not ours');
      expect((await called('blocked', { path: '.' }, { biz_params })).result?.summary).to.match(/^tool_disabled/);
      expect((await called('lost', {}, { biz_params })).result?.summary).to.match(/^tool_invoke_failed/);
      const direct = await gateway.process('x', { biz_params: { ...biz_params, tool: { name: 'lost' } } });
      expect(await errorOf(direct)).to.include({ status: 502, code: 'tool_invoke_failed' });
    });

    it('leave an audit row when a model calls a disabled one', async () => {
      expect((await called('find', { path: '.', pattern: 'x' })).result?.summary).to.match(/^tool_disabled/);
      const audited = async () => {
        const { rows } = await gateway.host.app.database
          .forPlugin('probe', ['governance'])
          .statement("select reason from {governance.write_audit} where reason = 'forbidden:find'");
        return rows.length > 0;
      };
      await until('the audit row', audited, 10_000);
    });

    it('show unreadable arguments in the event, and the turn continues', async () => {
      const { call, result } = await called('shell', 'not json');
      expect((call as { input: object }).input).to.have.keys('raw_arguments', 'parse_error');
      expect(result).to.include({ ok: false });
    });
  });
});
