import { expect } from 'chai';
import { asksFor, errorOf, fakeModel, fakeTool, says } from 'mortise/contracts/agent/testing';
import type { GenerateEvent, Principal, Tool, ToolContext } from 'mortise/sdk';
import { oneDatabase, type TestPlugin, until } from 'mortise/sdk/testing';
import { type Gateway, openGateway, turnsOf } from './gateway.js';

function toolPlugin(name: string, value: Partial<Tool> & Pick<Tool, 'run'>): TestPlugin {
  const facts = { summary: 'Made by a test.', audience: ['agent' as const], inputSchema: { type: 'object' } };
  return {
    manifest: { key: `tool-${name}`, contributes: { tool: [{ key: name, facts }] } },
    definition: { key: `tool-${name}`, register: (host) => void host.contribute('tool', name, { ...facts, ...value }) },
  };
}

describe('tools that a model is offered', () => {
  oneDatabase((engine) => {
    let open: Gateway | undefined;

    afterEach(async function stop() {
      await open?.host.stop();
      open = undefined;
    });

    async function start(
      script: (call: number) => AsyncIterable<GenerateEvent>,
      options: Parameters<typeof openGateway>[1],
    ) {
      const model = fakeModel((_, call) => script(call));
      open = await openGateway(engine, { model, ...options });
      return { ...open, model };
    }

    const toolRows = async ({ host }: Gateway) => {
      const session = { channel: 'console', userId: 'u1', sessionId: 's1' };
      const { messages } = await host.service('sessions').display({ session });
      return messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.parse(content));
    };

    it('are the tools that are visible to the caller', async () => {
      const keys = JSON.stringify([
        { key: 'key-of-anna-000', id: 'anna' },
        { key: 'key-of-otto-000', id: 'otto' },
      ]);
      const forAnna = toolPlugin('secret', {
        visibleTo: ({ id }: Principal) => id === 'anna',
        run: () => ({ opened: true }),
      });
      const broken = toolPlugin('broken', {
        visibleTo: () => {
          throw new Error('unsure');
        },
        run: () => ({}),
      });
      const script = (call: number) => (call % 2 === 1 ? asksFor([['c', 'secret', '{}']]) : says('ok'));
      const gateway = await start(script, { env: { MORTISE_API_KEYS: keys }, extra: [forAnna, broken] });
      await gateway.process('hi', {}, { 'x-api-key': 'key-of-anna-000' });
      await gateway.process('hi', {}, { 'x-api-key': 'key-of-otto-000' });
      expect(gateway.model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).to.deep.equal([
        ['secret'],
        ['secret'],
        [],
        [],
      ]);
      expect((await toolRows(gateway)).map(({ opened, error_code }) => opened ?? error_code)).to.deep.equal([
        true,
        'UNKNOWN_TOOL',
      ]);
    });

    it('do not include disabled tools', async () => {
      const script = (call: number) => (call === 1 ? asksFor([['c', 'off', '{}']]) : says('ok'));
      const gateway = await start(script, {
        env: { MORTISE_DISABLED_TOOLS: 'off' },
        extra: [fakeTool('off', () => ({})), fakeTool('on', () => ({}))],
      });
      await gateway.process('hi');
      expect(gateway.model.requests[0]?.tools?.map(({ name }) => name)).to.deep.equal(['on']);
      expect(await toolRows(gateway)).to.deep.equal([
        { error_code: 'UNKNOWN_TOOL', code: 'tool_disabled', message: 'Unknown tool: off' },
      ]);
    });

    it('count against the limit of the caller', async () => {
      const script = (call: number) => (call < 3 ? asksFor([[`c${call}`, 'rare', `{"text":"${call}"}`]]) : says('ok'));
      const gateway = await start(script, {
        env: { MORTISE_TOOL_RATE_LIMITS: '{"rare":"1/60"}' },
        extra: [fakeTool('rare', () => ({ done: true }))],
      });
      await gateway.process('hi');
      const [first, second] = await toolRows(gateway);
      expect(first).to.deep.equal({ done: true });
      expect(second).to.include({ error_code: 'EXECUTION_ERROR', code: 'RATE_LIMITED' });
    });

    it('finish a committed call although the turn was cancelled', async () => {
      let finish: () => void = () => undefined;
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const contexts: ToolContext[] = [];
      const saves = toolPlugin('saves', {
        run: async (_, ctx) => {
          contexts.push(ctx);
          ctx.commit?.();
          await finished;
          return { saved: true };
        },
      });
      const gateway = await start(() => asksFor([['c', 'saves', '{}']]), { extra: [saves] });
      const asked = gateway.process('go');
      await until('the tool', () => contexts.length === 1);
      const [turn] = await turnsOf(gateway.host);
      expect(await gateway.host.service('sessions').cancelTurn(turn?.turn_id ?? '')).to.equal(true);
      finish();
      expect(await errorOf(await asked)).to.include({ code: 'turn_cancelled' });
      expect(contexts[0]?.signal.aborted).to.equal(false);
      expect(await toolRows(gateway)).to.deep.equal([{ saved: true }]);
      expect(gateway.model.requests).to.have.length(1);
    });

    it('may be called identically at most five times in a row while many steps are left', async () => {
      const same = (call: number) => asksFor([[`c${call}`, 'same', '{ "text": "x" }']]);
      const extra = [fakeTool('same', () => ({ always: true }))];
      const long = await start(same, { env: { MORTISE_AGENT_MAX_STEPS: '11' }, extra });
      expect(await errorOf(await long.process('go'))).to.deep.include({
        status: 422,
        code: 'agent_loop_detected',
        details: { tool: 'same' },
      });
      expect(long.model.requests).to.have.length(5);
      // A step limit that is near ends the turn instead, with a readable answer.
      expect(await errorOf(await long.process('go', { biz_params: { max_steps: 10 } }))).to.include({
        code: 'agent_step_limit',
      });
      expect(long.model.requests).to.have.length(15);
    });
  });
});
