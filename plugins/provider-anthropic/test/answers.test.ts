import { expect } from 'chai';
import { createGate, cutBytes, cuts, hangs, json, reset, streams, streamsFrom } from 'mortise/contracts/models/testing';
import { anthropic } from 'mortise/contracts/provider-anthropic/testing';
import type { GenerateRequest } from 'mortise/sdk';
import { until } from 'mortise/sdk/testing';
import { type AnthropicHost, anthropicHost, failureOf } from './support.js';

const { asksFor, blockStart, delta, event, fails, messageEnd, messageStart, says, textBlock, toolBlock } = anthropic;
const soon = { 'retry-after': '0' };

describe('answers of Anthropic’s API', () => {
  let api: AnthropicHost;

  beforeEach(async () => {
    api = await anthropicHost();
  });
  afterEach(() => api.stop());

  it('pass text, thinking and fragments of tool calls on as they come', async () => {
    api.upstream.answer(
      streams(
        messageStart({ input: 10, output: 5, cacheRead: 90 }),
        event('ping'),
        blockStart(0, { type: 'thinking', thinking: '' }),
        delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
        ...textBlock(1, 'Hel', 'lo'),
        ...toolBlock(2, 'toolu_1', 'look', '{"at":1}'),
        ...toolBlock(3, 'toolu_2', 'wait', ''),
        event('from_the_future', { x: 1 }),
        ...messageEnd('tool_use', 5),
      ),
    );
    const events = await api.ask();
    expect(events.map((one) => (one.type === 'done' ? { ...one, opaque: undefined } : one))).to.deep.equal([
      { type: 'reasoning_delta', text: 'Hm' },
      { type: 'content_delta', text: 'Hel' },
      { type: 'content_delta', text: 'lo' },
      { type: 'tool_call_delta', index: 0, id: 'toolu_1', name: 'look', arguments: '' },
      { type: 'tool_call_delta', index: 0, arguments: '{"at"' },
      { type: 'tool_call_delta', index: 0, arguments: ':1}' },
      { type: 'tool_call_delta', index: 1, id: 'toolu_2', name: 'wait', arguments: '' },
      {
        type: 'tool_calls_complete',
        toolCalls: [
          { id: 'toolu_1', name: 'look', arguments: '{"at":1}' },
          { id: 'toolu_2', name: 'wait', arguments: '{}' },
        ],
      },
      { type: 'usage', inputTokens: 100, outputTokens: 5, cachedInputTokens: 90 },
      { type: 'done', responseId: anthropic.messageId, stopReason: 'tool_use', opaque: undefined },
    ]);
  });

  it('arrive before the next piece is sent, cut anywhere, or in one body', async () => {
    const gates = [createGate(), createGate()];
    api.upstream.answer(
      streamsFrom(async function* () {
        yield messageStart();
        yield textBlock(0, '你好').slice(0, 2).join('');
        await gates[0]?.opened;
        yield delta(0, { type: 'text_delta', text: '，世界' });
        await gates[1]?.opened;
        yield messageEnd('end_turn').join('');
      }),
    );
    const seen: string[] = [];
    for await (const one of api.stream()) if (one.type === 'content_delta') gates[seen.push(one.text) - 1]?.open();
    expect(seen).to.deep.equal(['你好', '，世界']);
    const whole = [messageStart(), ...textBlock(0, '你好', '👩‍👩‍👧‍👦'), ...messageEnd('end_turn')].join('');
    const textOf = async (stream: boolean) =>
      (await api.ask({ stream })).map((one) => (one.type === 'content_delta' ? one.text : '')).join('');
    for (const size of [1, 3, 7]) {
      api.upstream.answer({ ...streams(), body: cutBytes(whole, size) });
      expect(await textOf(true)).to.equal('你好👩‍👩‍👧‍👦');
    }
    api.upstream.answer(says('a', 'b'), asksFor(['toolu_1', 'look', '{"at":1}']));
    expect(await textOf(false)).to.equal('ab');
    const events = await api.ask({ stream: false });
    expect(events.find(({ type }) => type === 'tool_call_delta')).to.include({ name: 'look', arguments: '{"at":1}' });
  });

  it('of two megabytes arrive whole, also when they are labelled as text', async () => {
    const text = '漢字 x'.repeat(400_000);
    const frames = [messageStart(), ...textBlock(0, text), ...messageEnd('end_turn')];
    api.upstream.answer(streams(...frames), { headers: { 'content-type': 'text/plain' }, body: frames });
    for (let round = 0; round < 2; round += 1) {
      const [first] = await api.ask();
      expect(first?.type === 'content_delta' && first.text === text).to.equal(true);
    }
  });

  it('have the stop reasons of all adapters', async () => {
    const reason = async (...args: Parameters<typeof messageEnd>) => {
      api.upstream.answer(streams(messageStart(), ...textBlock(0, 'x'), ...messageEnd(...args)));
      const done = (await api.ask()).at(-1);
      return done?.type === 'done' ? [done.stopReason, done.stopSequence] : [];
    };
    expect(await reason('stop_sequence', 3, 'END')).to.deep.equal(['stop_sequence', 'END']);
    expect(await reason('max_tokens')).to.deep.equal(['max_tokens', undefined]);
    expect(await reason('model_context_window_exceeded')).to.deep.equal(['max_tokens', undefined]);
    expect(await reason('refusal')).to.deep.equal(['refusal', undefined]);
  });

  it('are asked for again after a temporary failure, and not after the first byte', async () => {
    api.upstream.answer(fails(529, { type: 'overloaded_error' }, soon), cuts, says('here'));
    const [first] = await api.ask();
    expect(first).to.deep.equal({ type: 'content_delta', text: 'here' });
    expect(api.upstream.requests).to.have.length(3);
    api.upstream.always(
      fails(429, { type: 'rate_limit_error', message: 'slow down sk-ant-abcdefghijklmnopqrstu' }, soon),
    );
    expect(await failureOf(api.ask())).to.deep.equal({
      code: 'provider_request_failed',
      status: 502,
      message: 'provider returned status 429',
      details: { provider_status: 429, cause: 'rate_limit_error', runner_message: 'slow down [REDACTED]', attempts: 3 },
    });
    api.upstream.clear();
    api.upstream.answer(streams(messageStart(), ...textBlock(0, 'Hel'), reset));
    expect(await failureOf(api.ask())).to.include({ message: 'provider stream request failed' });
    expect(api.upstream.requests).to.have.length(1);
  });

  it('are refused when they are incomplete, wrong or an error', async () => {
    const wrong: [Parameters<typeof api.upstream.answer>[0], string, string][] = [
      [fails(400), 'provider_request_failed', 'provider returned status 400'],
      [streams(messageStart(), ...textBlock(0, 'x')), 'provider_request_failed', 'provider stream request failed'],
      [
        streams(messageStart(), event('error', { error: { type: 'overloaded_error', message: 'busy' } })),
        'provider_request_failed',
        'provider stream request failed',
      ],
      [
        streams(messageStart(), ...messageEnd('end_turn')),
        'provider_invalid_reply',
        'provider response has empty content',
      ],
      [streams(messageStart(), 'data: {"type"\n\n'), 'provider_invalid_reply', 'provider response is not valid json'],
      [
        streams(delta(7, { type: 'text_delta', text: 'x' })),
        'provider_invalid_reply',
        'provider response has a delta without its block',
      ],
      [json(200, {}), 'provider_invalid_reply', 'provider response has no content'],
      [json(200, '[]'), 'provider_invalid_reply', 'provider response is not valid json'],
    ];
    for (const [answer, code, message] of wrong) {
      api.upstream.answer(answer);
      expect(await failureOf(api.ask({ settings: { max_retries: 0 } })), message).to.include({ code, message });
    }
  });

  it('are refused when they are a page', async () => {
    api.upstream.answer({ headers: { 'content-type': 'text/html' }, body: ['<html>Sign in</html>'] });
    expect(await failureOf(api.ask())).to.include({ code: 'provider_invalid_reply' });
  });

  it('end the request when the caller leaves, and time out', async () => {
    const count = (request: Partial<GenerateRequest>) =>
      api.host.points.call('provider', 'anthropic', async (provider, ctx) =>
        provider.countTokens?.(api.say(request), ctx),
      );
    const controller = new AbortController();
    api.upstream.answer(hangs);
    const waiting = failureOf(api.ask({}, controller.signal));
    await until(() => api.upstream.requests.length === 1);
    controller.abort();
    await api.upstream.requests[0]?.leaving;
    expect((await waiting).code).to.equal('call_aborted');
    const stalls = streamsFrom(async function* ({ leaving }) {
      yield messageStart();
      await leaving;
    });
    api.upstream.answer(stalls, hangs);
    expect(await failureOf(api.ask({ settings: { idle_timeout_ms: 400 } }))).to.deep.include({
      details: { cause: 'idle_timeout' },
    });
    expect(await failureOf(api.ask({ settings: { timeout_ms: 400 } }))).to.deep.include({
      message: 'provider request timed out',
    });
    api.upstream.answer(hangs, hangs, hangs);
    const silent = { details: { cause: 'idle_timeout' } };
    expect(await failureOf(api.ask({ settings: { idle_timeout_ms: 400 } }))).to.deep.include(silent);
    expect(await failureOf(count({ settings: { idle_timeout_ms: 400 } }))).to.deep.include(silent);
    expect(await failureOf(count({ settings: { timeout_ms: 400 } }))).to.deep.include({
      message: 'provider request timed out',
    });
  });
});
