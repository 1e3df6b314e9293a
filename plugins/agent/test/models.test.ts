import { expect } from 'chai';
import { errorOf } from 'mortise/contracts/agent/testing';
import type { ModelFacts } from 'mortise/sdk';
import { contributing, oneDatabase, type TestPlugin } from 'mortise/sdk/testing';
import { type Gateway, openGateway } from './gateway.js';

/** A model that answers with its own name. */
function adapter(key: string, models?: readonly ModelFacts[]): TestPlugin {
  const facts = {
    capabilities: { stream: true, toolCall: false, attachments: false, reasoning: false },
    ...(models ? { models } : {}),
  };
  return contributing(
    'provider',
    key,
    facts,
    {
      async *generate({ model }) {
        yield { type: 'content_delta', text: `${key} ${model}` };
        yield { type: 'done' };
      },
    },
    `provider-${key}`,
  );
}

describe('the model of a turn', () => {
  oneDatabase((engine) => {
    let gateway: Gateway;

    afterEach(async function stop() {
      await gateway.host.stop();
    });

    async function start(env: Record<string, string>, ...extra: TestPlugin[]): Promise<void> {
      gateway = await openGateway(engine, { env, extra });
    }

    const ask = async () => (await (await gateway.process('hi')).json()) as { reply: string; events: object[] };

    it('is the configured one, or the demo model when none is configured', async () => {
      await start({}, adapter('acme'));
      expect((await ask()).reply).to.equal('Echo: hi');
      await gateway.host.stop();
      await start({ MORTISE_MODEL: 'acme/models/large:1' }, adapter('acme'));
      const { reply, events } = await ask();
      expect(reply).to.equal('acme models/large:1');
      const { meta } = events.at(-1) as { meta?: { model?: object } };
      expect(meta?.model).to.deep.equal({ provider_id: 'acme', model: 'models/large:1' });
    });

    it('is the model that the chat has chosen', async () => {
      await start({ MORTISE_MODEL: 'demo/demo-chat' }, adapter('openai-compatible'));
      await ask();
      const sessions = gateway.host.service('sessions');
      const chat = await sessions.currentChat({ channel: 'console', userId: 'u1', sessionId: 's1' });
      const choose = (provider_id: string, model: string) =>
        sessions.patchChatMeta(chat?.id ?? '', { active_llm_override: { provider_id, model } });
      await choose('openai', 'gpt-4o-mini');
      expect((await ask()).reply).to.equal('openai-compatible gpt-4o-mini');
      await choose('demo', 'demo-large');
      expect(await errorOf(await gateway.process('hi'))).to.deep.include({
        status: 400,
        code: 'model_not_found',
        message: 'active model is not available for provider',
        details: { model: 'demo-large' },
      });
    });

    it('is refused before anything is written when no adapter serves it', async () => {
      await start({ MORTISE_MODEL: 'ghost/one' });
      expect(await errorOf(await gateway.process('hi'))).to.deep.include({
        status: 404,
        code: 'provider_not_found',
        message: 'provider not found',
      });
      await gateway.host.stop();
      await start({ MORTISE_MODEL: 'openai/gpt-4o-mini' });
      expect(await errorOf(await gateway.process('hi'))).to.include({
        status: 400,
        code: 'provider_not_supported',
        message: 'adapter "openai-compatible" is not supported',
      });
      expect(await (await gateway.host.fetch('/chats?user_id=u1')).json()).to.deep.equal([]);
    });

    it('is sent the part of a long chat that fits, and an input that does not fit is refused', async () => {
      const small = adapter('small', [{ id: 'tiny', context: 200, output: 40 }]);
      await start({ MORTISE_MODEL: 'small/tiny', MORTISE_AGENT_COMPACTION: 'window' }, small);
      for (const name of ['a', 'b', 'c', 'd', 'e']) await gateway.process(`${name} ${'word '.repeat(60)}`);
      const { events } = (await (await gateway.process('now', { biz_params: { debug: true } })).json()) as {
        events: { meta?: { model_request?: { input: { content: string }[] } } }[];
      };
      const input = events.at(-1)?.meta?.model_request?.input ?? [];
      expect(input.map(({ content }) => content.slice(0, 39))).to.deep.equal([
        'Earlier conversation omitted (3 turns).',
        `d ${'word '.repeat(60)}`.slice(0, 39),
        'small tiny',
        `e ${'word '.repeat(60)}`.slice(0, 39),
        'small tiny',
        'now',
      ]);
      const refused = await gateway.process('word '.repeat(201));
      expect(await errorOf(refused)).to.deep.include({
        status: 400,
        code: 'context_too_large',
        details: { estimated_tokens: 201, limit: 200 },
      });
    });

    it('blocks only the agent when its setting is malformed', async () => {
      await start({ MORTISE_MODEL: 'gpt-4o-mini' });
      const row = gateway.host.control.list().find(({ key }) => key === 'agent');
      expect(row?.state).to.equal('blocked');
      expect(row?.message).to.contain('MORTISE_MODEL');
    });
  });
});
