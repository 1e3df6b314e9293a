import { APIError, AuthenticationError, BadRequestError, NotFoundError, RateLimitError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { says } from 'mortise/contracts/models/testing';
import { MortiseError } from 'mortise/sdk';
import { type ClaudeHost, claudeHost } from './support.js';

/** The error of a refused call of the official client. */
async function refusal(run: Promise<unknown>): Promise<APIError> {
  const error: unknown = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`The client threw ${String(error)}.`);
}

describe('the official Claude client', () => {
  let claude: ClaudeHost;
  const request = { model: 'scripted/m', max_tokens: 64, messages: [{ role: 'user' as const, content: 'hi' }] };
  before(async () => {
    claude = await claudeHost();
  });
  after(() => claude.stop());

  it('gets an answer, streamed and not', async () => {
    const message = await claude.client.messages.create({ ...request, model: 'claude-x' });
    expect(message.content).to.deep.equal([{ type: 'text', text: 'Echo: hi' }]);
    claude.scripted.answer(says('a', 'b'));
    const texts: string[] = [];
    const stream = claude.client.messages.stream(request).on('text', (text) => void texts.push(text));
    expect((await stream.finalMessage()).content).to.deep.equal([{ type: 'text', text: 'ab' }]);
    expect(texts).to.deep.equal(['a', 'b']);
  });

  it('runs its tool loop', async () => {
    for (const stream of [false, true]) {
      claude.scripted.answer(
        [
          { type: 'content_delta', text: 'let me see' },
          { type: 'tool_call_delta', index: 0, id: 'call_a', name: 'add', arguments: '{"a":' },
          { type: 'tool_call_delta', index: 1, id: 'call b', name: 'add', arguments: '{"a":3,"b":4}' },
          { type: 'tool_call_delta', index: 0, arguments: '1,"b":2}' },
          {
            type: 'tool_calls_complete',
            toolCalls: [
              { id: 'call_a', name: 'add', arguments: '{"a":1,"b":2}' },
              { id: 'call b', name: 'add', arguments: '{"a":3,"b":4}' },
            ],
          },
          { type: 'done', stopReason: 'tool_use' },
        ],
        says('3 and 7'),
      );
      const seen: unknown[] = [];
      const runner = claude.client.beta.messages.toolRunner({
        ...request,
        stream,
        tools: [
          {
            type: 'custom',
            name: 'add',
            description: 'adds',
            input_schema: { type: 'object' },
            parse: (input: unknown) => input as { a: number; b: number },
            run: (input: { a: number; b: number }) => {
              seen.push(input);
              return String(input.a + input.b);
            },
          },
        ],
      });
      const final = await runner.runUntilDone();
      expect(final.content).to.deep.include({ type: 'text', text: '3 and 7' });
      expect(seen).to.deep.equal([
        { a: 1, b: 2 },
        { a: 3, b: 4 },
      ]);
      const results = claude.scripted.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
      expect(results?.map(({ content }) => content)).to.deep.equal(['3', '7']);
      expect(results?.[0]?.toolCallId).to.equal('call_a');
      expect(results?.[1]?.toolCallId).to.match(/^toolu_\w{16}$/);
    }
  });

  it('throws its own typed errors', async () => {
    const create = (more: object) => claude.client.messages.create({ ...request, ...more });
    expect(await refusal(create({ model: 'nope' }))).to.be.instanceOf(NotFoundError);
    expect(await refusal(create({ max_tokens: 0 }))).to.be.instanceOf(BadRequestError);
    claude.scripted.answer(() => {
      const details = { provider_status: 429 };
      throw new MortiseError('provider_request_failed', 'provider returned status 429', { status: 502, details });
    });
    expect(await refusal(create({}))).to.be.instanceOf(RateLimitError);
    claude.scripted.answer(function* () {
      yield { type: 'content_delta', text: 'a' };
      throw new MortiseError('provider_request_failed', 'It broke off.', { status: 502 });
    });
    const broken = await refusal(claude.client.messages.stream(request).finalMessage());
    expect(broken.message).to.include('It broke off.');
  });

  it('counts tokens', async () => {
    const { max_tokens: _, ...counted } = request;
    expect(await claude.client.messages.countTokens(counted)).to.deep.equal({ input_tokens: 1 });
  });

  it('is refused without the key of the platform', async () => {
    const keyed = await claudeHost({}, { env: { MORTISE_API_KEY: 'k-0123456789' } });
    try {
      expect(await refusal(keyed.client.messages.create(request))).to.be.instanceOf(AuthenticationError);
      const client = keyed.client.withOptions({ apiKey: 'k-0123456789' });
      expect((await client.messages.create({ ...request, model: 'claude-x' })).stop_reason).to.equal('end_turn');
    } finally {
      await keyed.stop();
    }
  });
});
