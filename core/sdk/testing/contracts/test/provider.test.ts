import { expect } from 'chai';
import { MortiseError } from '../../../errors.js';
import type { GenerateEvent, GenerateRequest, Provider } from '../../../points/provider.js';
import { eventIssues, type ProviderSubject, providerSuite } from '../provider.js';
import { type Sample, testSuite, wait, waitFor } from '../suite-samples.js';

const textOf = ({ messages }: GenerateRequest): string => messages.map(({ content }) => String(content)).join(' ');

const provider = (generate: Provider['generate'] = good, more: Partial<Provider> = {}): Provider => ({
  capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false },
  generate,
  countTokens: async (request) => textOf(request).length,
  ...more,
});

async function* good(
  request: GenerateRequest,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<GenerateEvent> {
  const text = `You said ${textOf(request)}`;
  if (request.model === 'broken') throw new MortiseError('provider_request_failed', 'The upstream is down.');
  for (const piece of request.stream ? [text.slice(0, 5), text.slice(5)] : [text]) {
    yield { type: 'content_delta', text: piece };
    if (request.model === 'slow') await waitFor(3_000, signal);
  }
  if (request.model === 'tool') yield toolCalls;
  yield { type: 'usage', inputTokens: 1, outputTokens: 2 };
  yield { type: 'done' };
}

const toolCalls: GenerateEvent = {
  type: 'tool_calls_complete',
  toolCalls: [{ id: 'call-1', name: 'contract_tool', arguments: '{}' }],
};

const request = (model: string): GenerateRequest => ({
  model,
  messages: [{ role: 'user', content: 'hello' }],
  stream: true,
  settings: {},
});

/** An adapter that sends these events for every request. */
const sending = (
  events: (asked: GenerateRequest) => Iterable<GenerateEvent> | AsyncIterable<GenerateEvent>,
  more: Partial<Provider> = {},
): Sample<'provider', ProviderSubject> => ({
  make: () =>
    provider(async function* (asked) {
      yield* events(asked);
    }, more),
});

const delta = (text: string): GenerateEvent => ({ type: 'content_delta', text });
const done: GenerateEvent = { type: 'done' };
let calls = 0;
let busy = 0;
let started = 0;

testSuite(
  { ...providerSuite, point: 'provider' },
  {
    good: { make: () => provider() },
    subject: { toolRequest: request('tool'), slow: request('slow'), failing: [request('broken')] },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => provider(good, { capabilities: {} as Provider['capabilities'] }),
      },
      'sends deltas, then at most one tool_calls_complete, and done last': sending(() => [
        toolCalls,
        delta('late'),
        done,
        toolCalls,
      ]),
      'respects its capabilities: one delta without stream, no tool calls without toolCall': sending(
        () => [delta('a'), delta('b'), toolCalls, done],
        { capabilities: { stream: false, toolCall: false, attachments: false, reasoning: false } },
      ),
      'produces the same text with and without streaming': sending(({ stream }) => [
        delta(stream ? 'streamed' : 'whole'),
        done,
      ]),
      'returns the same result for the same call, regardless of calls in between': sending(() => [
        delta(`${calls++}`),
        done,
      ]),
      'serves 20 concurrent calls': sending(async function* () {
        busy += 1;
        await wait(1);
        const together = busy;
        busy -= 1;
        yield delta(together > 1 ? 'busy' : 'free');
        yield done;
      }),
      'stops its work when its signal is aborted': sending(async function* () {
        await wait(700);
        yield done;
      }),
      'stops its work when the reader stops reading': sending(async function* () {
        try {
          yield delta('first');
        } finally {
          await wait(700);
        }
      }),
      'counts tokens in integers, if it counts them': {
        make: () => provider(good, { countTokens: async () => 1.5 }),
      },
      'fails with a provider_* code': sending(() => {
        throw new MortiseError('upstream_down', 'It is down.');
      }),
      'answers hostile messages or rejects them with a provider_* code': sending(({ messages }) => [
        delta(String((messages[0] as { content: string }).content.length)),
        done,
      ]),
      'does not log message text': {
        make: (host) =>
          provider(async function* (asked) {
            host.log.debug({ asked: textOf(asked) }, 'asked');
            yield delta('x');
            yield done;
          }),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => provider(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already connected');
        },
      },
    },
  },
);

describe('the fragments of tool calls in the contract of providers', () => {
  const piece = (index: number, text: string, name?: string): GenerateEvent => ({
    type: 'tool_call_delta',
    index,
    ...(name === undefined ? {} : { id: 'a', name }),
    arguments: text,
  });
  const complete: GenerateEvent = {
    type: 'tool_calls_complete',
    toolCalls: [{ id: 'a', name: 'look', arguments: '{"at":1}' }],
  };
  const issue = 'the fragments of tool calls are not the complete calls';

  it('add up to the complete calls, and come before them', () => {
    const pieces = [piece(0, '{"at"', 'look'), piece(0, ':1}')];
    expect(eventIssues([...pieces, complete, { type: 'done' }])).to.deep.equal([]);
    expect(eventIssues([piece(0, '{"at"', 'look'), complete, { type: 'done' }])).to.deep.equal([issue]);
    expect(eventIssues([...pieces, piece(1, '{}', 'other'), complete, { type: 'done' }])).to.deep.equal([issue]);
    expect(eventIssues([complete, ...pieces, { type: 'done' }])).to.deep.equal([
      'a delta comes after tool_calls_complete',
    ]);
  });
});

describe('the end of an answer in the contract of providers', () => {
  const usage: GenerateEvent = { type: 'usage', inputTokens: 1, outputTokens: 2 };
  const answers: readonly [string, readonly GenerateEvent[], readonly string[]][] = [
    ['done', [delta('a'), usage, done], []],
    ['no done', [delta('a'), usage], ['there are 0 done events instead of one']],
    ['a delta after done', [delta('a'), done, delta('b')], ['done is not the last event']],
    ['usage after done', [delta('a'), done, usage], ['done is not the last event']],
    ['done twice', [delta('a'), done, done], ['there are 2 done events instead of one']],
  ];
  for (const [title, events, issues] of answers) {
    it(title, () => {
      expect(eventIssues(events)).to.deep.equal(issues);
    });
  }
});
