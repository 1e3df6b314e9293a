import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { errorOf, eventsOf, user } from 'mortise/contracts/agent/testing';
import { streams, type Upstream } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import { codex, startFakeResponses } from 'mortise/contracts/provider-codex/testing';
import { openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { createTestHost, oneDatabase, type TestHost, type TestHostOptions } from 'mortise/sdk/testing';

const apiKey = 'sk-test-adapters-0123456789';

interface ShownEvent {
  readonly type: string;
  readonly tool_call?: { readonly name: string; readonly input: unknown };
  readonly tool_result?: { readonly name: string; readonly ok: boolean; readonly summary?: string };
}

describe('turns with real adapters and tools', () => {
  oneDatabase((engine) => {
    let host: TestHost;
    let upstream: Upstream;

    afterEach(async function stop() {
      await host.stop();
      await upstream.stop();
    });

    async function start(plugins: readonly string[], model: string, env: TestHostOptions['env'] = {}): Promise<void> {
      const prefix = model.slice(0, model.indexOf('/')).toUpperCase().replaceAll('-', '_');
      host = await createTestHost({
        plugins: ['agent', 'channel-console', ...plugins],
        database: engine.env,
        env: {
          MORTISE_MODEL: model,
          [`${prefix}_API_KEY`]: apiKey,
          [`${prefix}_BASE_URL`]: upstream.baseUrl,
          ...env,
        },
      });
    }

    const process = (text: string, more: object = {}) =>
      host.post('/agent/process', { session_id: 's1', user_id: 'u1', input: [user(text)], ...more });
    const ask = async (text: string) =>
      (await (await process(text)).json()) as { readonly reply: string; readonly events: readonly ShownEvent[] };
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several APIs
    const body = (index: number): any => upstream.requests[index]?.body;
    const ofType = (events: readonly ShownEvent[], type: string) => events.filter((event) => event.type === type);

    describe('of chat completions', () => {
      beforeEach(async () => {
        upstream = await startFakeOpenAi({ apiKey });
        await start(['provider-openai', 'tool-files', 'tool-shell'], 'openai/gpt-4o-mini');
      });

      it('A26 run a command that the model calls by its own name', async () => {
        const args = '{"cmd":"printf ok","yield_time_ms":1500}';
        upstream.answer(openAi.asksFor(['call_1', 'exec_command', args]), openAi.says('it said ok'));
        const { reply, events } = await ask('go');
        expect(ofType(events, 'tool_call')[0]?.tool_call).to.include({ name: 'exec_command' });
        expect(ofType(events, 'tool_result')[0]?.tool_result).to.include({ name: 'exec_command', ok: true });
        expect(reply).to.equal('it said ok');
        expect(body(1).messages.at(-1)).to.include({ role: 'tool', tool_call_id: 'call_1' });
        expect(body(1).messages.at(-1).content).to.contain('ok');
      });

      it('A27 view lines of a file that the model calls by another name', async () => {
        const path = join(host.dataDir, 'notes.txt');
        await writeFile(path, 'one\ntwo\nthree\n');
        const args = JSON.stringify({ path, start_line: 1, end_line: 2 });
        upstream.answer(openAi.asksFor(['call_1', 'view_file_lines', args]), openAi.says('two lines'));
        const { events } = await ask('go');
        expect(ofType(events, 'tool_call')[0]?.tool_call?.name).to.equal('view_file_lines');
        expect(ofType(events, 'tool_result')[0]?.tool_result?.ok).to.equal(true);
        const shown = body(1).messages.at(-1).content as string;
        expect(shown).to.contain('[1-2]').and.contain('2: two').and.not.contain('three');
      });

      it('A28 report arguments that are not JSON to the model, and continue', async () => {
        upstream.answer(openAi.asksFor(['call_1', 'shell', 'not json']), openAi.says('sorry'));
        const { reply, events } = await ask('go');
        expect(ofType(events, 'tool_call')[0]?.tool_call?.input).to.have.keys('raw_arguments', 'parse_error');
        expect(ofType(events, 'tool_result')[0]?.tool_result?.ok).to.equal(false);
        expect(reply).to.equal('sorry');
      });
    });

    it('A29 end at the step limit when the model never stops calling tools', async () => {
      upstream = await startFakeOpenAi({ apiKey });
      await start(['provider-openai', 'tool-files', 'tool-shell'], 'openai/gpt-4o-mini', {
        MORTISE_AGENT_MAX_STEPS: '4',
      });
      let step = 0;
      upstream.always(() => {
        step += 1;
        return openAi.asksFor([`call_${step}`, 'shell', `{"command":"echo ${step}"}`]);
      });
      expect(await errorOf(await process('go'))).to.deep.include({
        status: 422,
        code: 'agent_step_limit',
        message: 'agent step limit reached (4)',
        details: { max_steps: 4 },
      });
      expect(upstream.requests).to.have.length(4);
      const frames = (await eventsOf(await process('go', { stream: true }))) as (string | ShownEvent)[];
      expect(frames.slice(-2).map((one) => (typeof one === 'string' ? one : one.type))).to.deep.equal([
        'error',
        '[DONE]',
      ]);
    });

    it('of Anthropic’s API send thinking back unchanged in later steps and turns', async () => {
      upstream = await startFakeAnthropic({ apiKey });
      await start(['provider-anthropic', 'tool-files', 'tool-shell'], 'anthropic/claude-sonnet-5-5');
      const { blockStart, blockStop, delta, messageEnd, messageStart, says, textBlock, toolBlock } = anthropic;
      upstream.answer(
        streams(
          messageStart({ input: 10, output: 5, cacheRead: 90 }),
          blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
          delta(0, { type: 'thinking_delta', thinking: 'Let me see' }),
          delta(0, { type: 'signature_delta', signature: 'c2lnbmVk+/==' }),
          blockStop(0),
          ...textBlock(1, 'I look.'),
          ...toolBlock(2, 'toolu_1', 'shell', '{"command": "echo  ✓"}'),
          ...messageEnd('tool_use', 5),
        ),
        says('It ', 'said ✓.'),
        says('Twice.'),
      );
      const { reply, events } = await ask('go');
      expect(reply).to.equal('It said ✓.');
      expect(ofType(events, 'tool_result')[0]?.tool_result).to.include({ name: 'shell', ok: true });
      await ask('again');
      const blocks =
        '[{"type":"thinking","thinking":"Let me see","signature":"c2lnbmVk+/=="},{"type":"text","text":"I look."},' +
        '{"type":"tool_use","id":"toolu_1","name":"shell","input":{"command": "echo  ✓"}}]';
      for (const index of [1, 2]) {
        const sent = Buffer.from(upstream.requests[index]?.bytes ?? []).toString();
        expect(sent).to.contain(`{"role":"assistant","content":${blocks}}`);
      }
      expect(body(1).messages.at(-1).content[0]).to.include({ type: 'tool_result', tool_use_id: 'toolu_1' });
      expect(body(2).messages.map(({ role }: { role: string }) => role)).to.deep.equal([
        'user',
        'assistant',
        'user',
        'assistant',
        'user',
      ]);
      expect(body(0)).to.include({ max_tokens: 64_000, stream: true });
      expect(body(0).tools.at(-1)).to.have.property('cache_control');
    });

    it('of the responses API continue a stored response with only the new input', async () => {
      upstream = await startFakeResponses({ apiKey });
      await start(['provider-codex', 'tool-files', 'tool-shell'], 'codex-compatible/gpt-5-codex');
      await host.fetch('/models/codex-compatible/config', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ store: true, api_key: apiKey, base_url: upstream.baseUrl }),
      });
      upstream.answer(
        codex.asksFor(['call_1', 'shell', '{"command":"echo hi"}']),
        codex.says('It said hi.'),
        codex.says('Yes.'),
      );
      expect((await ask('go')).reply).to.equal('It said hi.');
      await ask('sure?');
      expect(body(0)).to.not.have.property('previous_response_id');
      expect(body(1)).to.include({ previous_response_id: codex.responseId, store: true });
      expect(body(1).input).to.have.length(1);
      expect(body(1).input[0]).to.include({ type: 'function_call_output', call_id: 'call_1' });
      expect(body(2).input).to.deep.equal([
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'sure?' }] },
      ]);
    });
  });
});
