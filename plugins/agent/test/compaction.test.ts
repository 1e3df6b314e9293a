import { expect } from 'chai';
import type { GenerateEvent, GenerateRequest, ModelFacts } from 'mortise/sdk';
import { contributing, eachDatabase, type TestPlugin } from 'mortise/sdk/testing';
import { type Gateway, openGateway, promptSource } from './gateway.js';

/** 1,350 tokens to send: nine tenths of the context less the output. */
const models: readonly ModelFacts[] = [{ id: 'one', context: 2_000, output: 500 }];
const capabilities = { stream: true, toolCall: false, attachments: false, reasoning: false };
interface ShownEvent {
  readonly meta?: { readonly model_request?: { readonly system_layers: readonly { readonly name: string }[] } };
}

/** 400 tokens that begin with a name. */
const long = (name: string) => `${name} ${'word '.repeat(399)}`.trim();

function codexPrompt(): TestPlugin {
  const plugin = promptSource('codex-prompt', 1, true, 'prompt');
  for (const source of plugin.manifest.contributes?.['prompt-source'] ?? []) {
    Object.assign((source as { facts: object }).facts, { modes: ['codex'] });
  }
  return plugin;
}

eachDatabase((engine) => {
  describe('a chat that exceeds the context of its model', () => {
    let gateway: Gateway;
    const asked: GenerateRequest[] = [];
    let summarise: (request: GenerateRequest) => AsyncIterable<GenerateEvent>;

    const isSummary = ({ messages }: GenerateRequest) => String(messages[0]?.content).startsWith('Summarise ');
    const summaries = () => asked.filter(isSummary);
    const lastSent = () => asked.findLast((request) => !isSummary(request))?.messages ?? [];
    const names = () => lastSent().map(({ role, content }) => `${role} ${String(content).split(' ')[0]}`);

    async function* says(text: string): AsyncGenerator<GenerateEvent> {
      yield { type: 'content_delta', text };
      yield { type: 'done' };
    }

    const small = contributing(
      'provider',
      'small',
      { capabilities, models },
      {
        generate(request: GenerateRequest) {
          asked.push(request);
          return isSummary(request) ? summarise(request) : says('ok');
        },
      },
      'provider-small',
    );

    async function start(env: Record<string, string> = {}) {
      gateway = await openGateway(engine, {
        env: { MORTISE_MODEL: 'small/one', ...env },
        extra: [small, codexPrompt()],
      });
    }

    async function ask(text: string, extra: object = {}) {
      const response = await gateway.process(text, extra);
      const body = (await response.json()) as { reply: string; events: ShownEvent[] };
      expect(response.status, JSON.stringify(body)).to.equal(200);
      return body;
    }

    beforeEach(() => {
      asked.length = 0;
      summarise = (request) => says(`summary ${summaries().indexOf(request) + 1}`);
    });
    afterEach(async function stop() {
      await gateway.host.stop();
    });

    it('is continued with a summary of the turns that do not fit, which later turns reuse', async () => {
      await start();
      for (const name of ['a', 'b', 'c']) await ask(long(name));
      expect(summaries()).to.have.length(0);
      await ask(long('d'), { biz_params: { debug: true } });
      expect(summaries()).to.have.length(1);
      const text = String(summaries()[0]?.messages[1]?.content);
      expect(text.startsWith('user: a word'), text.slice(0, 40)).to.equal(true);
      expect(text)
        .to.match(/assistant: ok$/)
        .and.not.contain('user: c');
      expect(lastSent()[0]).to.deep.equal({
        role: 'system',
        content: 'Summary of the earlier conversation:\nsummary 1',
      });
      const kept = names();
      expect(kept.at(-1)).to.equal('user d');
      expect(kept).to.include('user c');
      expect(kept).to.not.include('user a');
      await ask('short');
      expect(summaries()).to.have.length(1);
      expect(lastSent()[0]?.content).to.equal('Summary of the earlier conversation:\nsummary 1');
      for (const name of ['e', 'f']) await ask(long(name));
      const again = summaries().at(-1);
      expect(String(again?.messages[1]?.content).startsWith('Previous summary:\nsummary ')).to.equal(true);
      expect(lastSent()[0]?.content).to.equal(`Summary of the earlier conversation:\nsummary ${summaries().length}`);
    });

    it('is summarised far enough that many turns fit before the next summary', async () => {
      await start();
      // A question of 100 tokens per turn: twelve of them fill the context.
      const question = (n: number) => `q${n} ${'word '.repeat(98)}`.trim();
      for (let n = 0; n < 30; n += 1) await ask(question(n));
      expect(summaries().length).to.be.within(1, 3);
    });

    it('names the summary among the system layers', async () => {
      await start();
      for (const name of ['a', 'b', 'c']) await ask(long(name));
      const { events } = await ask(long('d'), { biz_params: { debug: true } });
      const layers = events.at(-1)?.meta?.model_request?.system_layers;
      expect(layers?.map(({ name }) => name)).to.deep.equal(['history_summary_system']);
    });

    it('is continued without the turns that do not fit when they cannot be summarised', async () => {
      await start();
      for (const name of ['a', 'b', 'c']) await ask(long(name));
      // biome-ignore lint/correctness/useYield: the model fails before its first output.
      summarise = async function* () {
        throw new Error('overloaded');
      };
      expect((await ask(long('d'))).reply).to.equal('ok');
      expect(lastSent()[0]?.content).to.match(/^Earlier conversation omitted \(\d turns\)\.$/);
      summarise = () => says('late');
      await ask(long('e'));
      expect(lastSent()[0]?.content).to.equal('Summary of the earlier conversation:\nlate');
    });

    it('asks for no summary with window or off', async () => {
      for (const [compaction, first] of [
        ['window', 'system Earlier'],
        ['off', 'user a'],
      ] as const) {
        await start({ MORTISE_AGENT_COMPACTION: compaction });
        for (const name of ['a', 'b', 'c', 'd']) await ask(long(name), { session_id: compaction });
        expect(names()[0]).to.equal(first);
        expect(summaries()).to.have.length(0);
        if (compaction === 'window') await gateway.host.stop();
      }
    });

    it('keeps a summary within its size', async () => {
      await start();
      summarise = () => says('word '.repeat(5_000));
      for (const name of ['a', 'b', 'c', 'd']) await ask(long(name));
      expect(String(lastSent()[0]?.content).length).to.be.within(1_000, 1_800);
      expect(summaries()[0]?.maxOutputTokens).to.equal(337);
    });

    it('continues from the reply to /compact, in codex mode only', async () => {
      await start();
      await ask('a');
      await ask('/compact');
      await ask('b');
      expect(names()).to.deep.equal(['user a', 'assistant ok', 'user /compact', 'assistant ok', 'user b']);
      const codex = { biz_params: { prompt_mode: 'codex' } };
      await ask('/compact', codex);
      await ask('c', codex);
      expect(lastSent()[1]?.content).to.equal('Summary of the earlier conversation:\nok');
      expect(names().slice(2)).to.deep.equal(['user /compact', 'assistant ok', 'user c']);
    });
  });
});
