import { expect } from 'chai';
import { calls, says } from 'mortise/contracts/models/testing';
import { MortiseError } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { type ClaudeHost, claudeHost, eventsOf, say } from './support.js';

describe('POST /v1/messages, translated', () => {
  let claude: ClaudeHost;
  before(async () => {
    claude = await claudeHost();
  });
  after(() => claude.stop());

  it('answers with the demo when nothing is configured, and stores nothing (A56)', async () => {
    const chats = await (await claude.host.fetch('/chats')).text();
    const response = await claude.ask(say('hi', { model: 'claude-x' }));
    expect(response.status).to.equal(200);
    expect(response.headers.get('x-mortise-model')).to.equal('demo/demo-chat');
    const body = (await response.json()) as Record<string, unknown>;
    expect(body.id).to.match(/^msg_\w{24}$/);
    expect({ ...body, id: '' }).to.deep.equal({
      id: '',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'Echo: hi' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 1,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 3,
        service_tier: 'standard',
      },
    });
    expect(await (await claude.host.fetch('/chats')).text()).to.equal(chats);
  });

  it('streams the same as events in order, without [DONE] (A57)', async () => {
    const response = await claude.ask(say('hi', { model: 'claude-x', stream: true }));
    expect(response.headers.get('content-type')).to.equal('text/event-stream');
    const text = await response.text();
    expect(text).not.to.include('[DONE]');
    const events = eventsOf(text);
    expect(events.map(({ type }) => type)).to.deep.equal([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(events[0]?.message).to.deep.include({
      content: [],
      stop_reason: null,
      usage: {
        input_tokens: 1,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 1,
        service_tier: 'standard',
      },
    });
    expect(events[3]).to.deep.include({ index: 0, delta: { type: 'text_delta', text: 'Echo: hi' } });
    expect(events[5]?.delta).to.deep.equal({ stop_reason: 'end_turn', stop_sequence: null });
  });

  it('returns tool calls to the client, which sends the results (A58)', async () => {
    claude.scripted.answer(calls(['call_1', 'weather', '{"city":"Oslo"}']), says('12 degrees'));
    const tools = [{ name: 'weather', description: 'd', input_schema: { type: 'object' } }];
    const first = (await (await claude.ask(say('weather?', { tools }))).json()) as { content: object[] };
    expect(first).to.deep.include({
      stop_reason: 'tool_use',
      content: [{ type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } }],
    });
    const messages = [
      { role: 'user', content: 'weather?' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: '12' }] },
    ];
    const second = await (await claude.ask(say('', { tools, messages }))).json();
    expect(second).to.deep.include({ stop_reason: 'end_turn', content: [{ type: 'text', text: '12 degrees' }] });
    expect(claude.scripted.requests.at(-1)?.messages).to.deep.equal([
      { role: 'user', content: 'weather?' },
      {
        role: 'assistant',
        content: [],
        toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' }],
      },
      { role: 'tool', toolCallId: 'call_1', content: '12' },
    ]);
  });

  it('refuses requests without a model, a token limit, messages or a known role (A60)', async () => {
    const wrong: readonly (readonly [body: object, message: string])[] = [
      [{ ...say('hi'), model: undefined }, 'model is required'],
      [say('hi', { max_tokens: 0 }), 'max_tokens must be greater than 0'],
      [say('hi', { messages: undefined }), 'messages is required'],
      [say('hi', { messages: [{ role: 'robot', content: 'hi' }] }), 'unsupported message role: robot'],
    ];
    for (const [body, message] of wrong) {
      const response = await claude.ask(body);
      expect(response.status, message).to.equal(400);
      const answer = (await response.json()) as { type: string; error: object; request_id: string };
      expect(answer.type).to.equal('error');
      expect(answer.error).to.deep.include({ type: 'invalid_request_error', code: 'invalid_request', message });
      expect(answer.request_id).to.equal(response.headers.get('x-request-id'));
    }
  });

  it('names the fields that have no effect', async () => {
    claude.scripted.answer(says('ok'));
    const body = say('hi', {
      top_k: 4,
      context_management: {},
      thinking: { type: 'enabled', budget_tokens: 5_000 },
      tools: [{ type: 'web_search_20250305', name: 'web_search' }],
    });
    const response = await claude.ask(body, { 'anthropic-version': '2099-01-01', 'anthropic-beta': 'a,b' });
    expect(response.status).to.equal(200);
    expect(response.headers.get('x-mortise-ignored')).to.equal('top_k, context_management, tools.web_search');
    expect(claude.scripted.requests.at(-1)).to.deep.include({ reasoningEffort: 'medium', maxOutputTokens: 64 });
  });

  it('reports the stop sequence and the tokens that the provider counted', async () => {
    claude.scripted.answer([
      { type: 'content_delta', text: 'a' },
      { type: 'done', stopReason: 'stop_sequence', stopSequence: 'END' },
      { type: 'usage', inputTokens: 100, cachedInputTokens: 60, outputTokens: 7 },
    ]);
    const answer = await (await claude.ask(say('hi', { stop_sequences: ['END'] }))).json();
    expect(answer).to.deep.include({
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
      usage: {
        input_tokens: 40,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 60,
        output_tokens: 7,
        service_tier: 'standard',
      },
    });
    expect(claude.scripted.requests.at(-1)?.stop).to.deep.equal(['END']);
  });

  it('checks the answer when the provider does not support the requested format', async () => {
    const schema = { type: 'object', required: ['a'] };
    const body = say('hi', { output_config: { format: { type: 'json_schema', schema } } });
    claude.scripted.answer(says('```json\n{"a":1}\n```'));
    const valid = await claude.ask(body);
    expect(await valid.json()).to.deep.include({ content: [{ type: 'text', text: '{"a":1}' }] });
    expect(valid.headers.get('x-mortise-ignored')).to.equal(null);
    claude.scripted.answer(says('{}'));
    const invalid = await claude.ask(body);
    expect(invalid.status).to.equal(502);
    expect(((await invalid.json()) as { error: object }).error).to.include({ code: 'invalid_model_output' });
  });

  it('maps the statuses of refusals by the provider', async () => {
    const failed = (status: number, retryAfterSeconds?: number) => () => {
      throw new MortiseError('provider_request_failed', `provider returned status ${status}`, {
        status: 502,
        details: { provider_status: status, runner_message: 'said' },
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      });
    };
    const rows: readonly (readonly [from: number, to: number, type: string, message: string])[] = [
      [401, 502, 'api_error', 'provider rejected the credentials'],
      [403, 502, 'api_error', 'provider rejected the credentials'],
      [429, 429, 'rate_limit_error', 'provider returned status 429'],
      [503, 502, 'api_error', 'provider returned status 503: said'],
      [400, 400, 'invalid_request_error', 'said'],
    ];
    for (const [from, to, type, message] of rows) {
      for (const stream of [true, false]) {
        claude.scripted.answer(failed(from, from === 429 ? 7 : undefined));
        const response = await claude.ask(say('hi', { stream }));
        expect(response.status).to.equal(to);
        expect(((await response.json()) as { error: object }).error).to.deep.include({ type, message });
        expect(response.headers.get('retry-after')).to.equal(from === 429 ? '7' : null);
      }
    }
  });

  it('ends a stream that fails with an error event', async () => {
    claude.scripted.answer(function* () {
      yield { type: 'content_delta', text: 'a' };
      throw new MortiseError('provider_request_failed', 'provider stream request failed', { status: 502 });
    });
    const events = eventsOf(await (await claude.ask(say('hi', { stream: true }))).text());
    expect(events.at(-1)).to.deep.include({ type: 'error' });
    expect(events.at(-1)?.error).to.deep.equal({
      type: 'api_error',
      message: 'provider stream request failed',
      code: 'provider_request_failed',
    });
    expect(events.map(({ type }) => type)).not.to.include('message_stop');
  });

  it('does not treat an answer that breaks off as complete', async () => {
    claude.scripted.answer([{ type: 'content_delta', text: 'a' }]);
    expect((await claude.ask(say('hi'))).status).to.equal(502);
    const events = eventsOf(await (await claude.ask(say('hi', { stream: true }))).text());
    expect(events.at(-1)?.type).to.equal('error');
  });

  it('aborts the provider when the client disconnects', async () => {
    let aborted = false;
    claude.scripted.answer(async function* (_, { signal }) {
      yield { type: 'content_delta', text: 'a' };
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(signal.reason as Error);
        });
      });
    });
    const controller = new AbortController();
    const response = await fetch(`${claude.host.origin}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(say('hi', { stream: true })),
      signal: controller.signal,
    });
    await response.body?.getReader().read();
    controller.abort();
    await until('the provider is aborted', () => aborted);
  });
});
