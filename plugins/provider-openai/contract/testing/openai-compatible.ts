import type { GenerateEvent, GenerateRequest } from 'mortise/sdk';
import {
  type Check,
  type Contract,
  callLimitMs,
  describeContract,
  errorIssues,
  outcomeOf,
  type Subject,
  sameJson,
  type TestHost,
} from 'mortise/sdk/testing';
import type { UpstreamAnswer } from './fake-openai/answers.js';
import { createGate, type FakeOpenAi, openAi, startFakeOpenAi } from './fake-openai.js';

export interface OpenAiCompatibleSubject extends Subject {
  /** The settings of a provider row with this address. */
  readonly settings: (baseUrl: string) => Readonly<Record<string, unknown>>;
}

const { chunk, endMark, streams, toolChunk } = openAi;
const finish = [chunk({}, 'tool_calls'), endMark];

type Calls = readonly (readonly [id: string, name: string, args: string])[];

/** Streams of such APIs, and the calls that they contain. */
const replays: readonly { readonly promise: string; readonly frames: readonly string[]; readonly calls: Calls }[] = [
  {
    promise: 'joins the pieces of arguments, and orders calls by their index',
    frames: [
      toolChunk([{ index: 1, id: 'b', type: 'function', function: { name: 'second', arguments: '{}' } }]),
      toolChunk([{ index: 0, id: 'a', type: 'function', function: { name: 'first', arguments: '' } }]),
      toolChunk([{ index: 0, function: { arguments: '{"a"' } }]),
      toolChunk([{ index: 0, function: { arguments: ':1}' } }]),
    ],
    calls: [
      ['a', 'first', '{"a":1}'],
      ['b', 'second', '{}'],
    ],
  },
  {
    promise: 'separates interleaved pieces of several calls',
    frames: [
      toolChunk([
        { index: 0, id: 'a', function: { name: 'one', arguments: '{"x":' } },
        { index: 1, id: 'b', function: { name: 'two', arguments: '{"y":' } },
      ]),
      toolChunk([
        { index: 1, function: { arguments: '2' } },
        { index: 0, function: { arguments: '1' } },
      ]),
      toolChunk([
        { index: 0, function: { arguments: '}' } },
        { index: 1, function: { arguments: '}' } },
      ]),
    ],
    calls: [
      ['a', 'one', '{"x":1}'],
      ['b', 'two', '{"y":2}'],
    ],
  },
  {
    promise: 'distinguishes calls without an index by their id',
    frames: [
      toolChunk([{ index: null, id: 'b', function: { name: 'two', arguments: '{"n":2}' } }]),
      toolChunk([{ index: null, id: 'a', function: { name: 'one', arguments: '{"n":' } }]),
      toolChunk([{ index: null, id: 'a', function: { arguments: '1}' } }]),
    ],
    calls: [
      ['b', 'two', '{"n":2}'],
      ['a', 'one', '{"n":1}'],
    ],
  },
  {
    promise: 'starts a call with each name without index and id',
    frames: [
      toolChunk([{ function: { name: 'one', arguments: '{"n":' } }]),
      toolChunk([{ function: { arguments: '1}' } }]),
      toolChunk([{ function: { name: 'two', arguments: '{"n":2}' } }]),
    ],
    calls: [
      ['call_1', 'one', '{"n":1}'],
      ['call_2', 'two', '{"n":2}'],
    ],
  },
  {
    promise: 'starts a call when an index is reused with another id and a name',
    frames: [
      toolChunk([{ index: 0, id: 'a', function: { name: 'one', arguments: '{"n":1}' } }]),
      toolChunk([{ index: 0, id: 'b', function: { name: 'two', arguments: '{"n":' } }]),
      toolChunk([{ index: 0, function: { arguments: '2}' } }]),
    ],
    calls: [
      ['a', 'one', '{"n":1}'],
      ['b', 'two', '{"n":2}'],
    ],
  },
  {
    promise: 'uses the last id and name of a call, and accepts arguments that are an object',
    frames: [
      toolChunk([{ index: 0, id: 'early', function: { name: 'old', arguments: '' } }]),
      toolChunk([{ index: 0, id: 'late', function: { arguments: { n: 1 } } }]),
      toolChunk([{ index: 0, id: '', function: { name: 'new' } }]),
    ],
    calls: [['late', 'new', '{"n":1}']],
  },
  {
    promise: 'replaces missing and duplicate ids, and empty arguments by an object',
    frames: [
      toolChunk([{ index: 0, id: 'call_1', function: { name: 'one', arguments: ' ' } }]),
      toolChunk([{ index: 1, id: '', function: { name: 'two', arguments: '' } }]),
      toolChunk([{ index: 2, id: 'call_1', function: { name: 'three' } }]),
    ],
    calls: [
      ['call_1', 'one', '{}'],
      ['call_2', 'two', '{}'],
      ['call_3', 'three', '{}'],
    ],
  },
  {
    promise: 'ignores pieces that belong to no call',
    frames: [
      toolChunk([{ function: { arguments: '{"lost":true}' } }]),
      toolChunk([{ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }]),
    ],
    calls: [['a', 'one', '{}']],
  },
];

/** The adapter's answer from this API. */
function ask(
  host: TestHost,
  { key, settings }: OpenAiCompatibleSubject,
  { baseUrl }: FakeOpenAi,
  timeoutMs = callLimitMs,
): AsyncIterable<GenerateEvent> {
  const request: GenerateRequest = {
    model: 'contract',
    messages: [{ role: 'user', content: 'hello' }],
    stream: true,
    settings: settings(baseUrl),
  };
  return host.points.stream('provider', key, (provider, ctx) => provider.generate(request, ctx), { timeoutMs });
}

/** Runs the adapter against an API that gives this answer. */
async function answered(host: TestHost, subject: OpenAiCompatibleSubject, answer: UpstreamAnswer) {
  const upstream = await startFakeOpenAi();
  upstream.always(answer);
  const events: GenerateEvent[] = [];
  try {
    const outcome = await outcomeOf(async () => {
      for await (const event of ask(host, subject, upstream)) events.push(event);
    });
    return { events, outcome };
  } finally {
    await upstream.stop();
  }
}

function replay({ promise, frames, calls }: (typeof replays)[number]): Check<OpenAiCompatibleSubject> {
  return {
    promise,
    violations: async (host, subject) => {
      const { events, outcome } = await answered(host, subject, streams(...frames, ...finish));
      if (!outcome.ok) return errorIssues(outcome.error, 'provider_').concat('it failed');
      const wanted = calls.map(([id, name, args]) => ({ id, name, arguments: args }));
      const found = events.find((event) => event.type === 'tool_calls_complete')?.toolCalls;
      return sameJson(found, wanted) ? [] : [`it returned ${JSON.stringify(found)}`];
    },
  };
}

const mixed: Check<OpenAiCompatibleSubject> = {
  promise: 'emits text at once and calls at the end, and skips chunks with neither',
  violations: async (host, subject) => {
    const frames = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Let me ', tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }] }),
      openAi.usageChunk({ prompt: 7, completion: 5 }),
      chunk({ content: 'check.' }),
    ];
    const { events, outcome } = await answered(host, subject, streams(...frames, ...finish));
    if (!outcome.ok) return ['it failed'];
    const shown = events.map((event) => (event.type === 'content_delta' ? event.text : event.type));
    const wanted = ['Let me ', 'check.', 'tool_calls_complete', 'usage', 'done'];
    // Fragments of calls are optional.
    const own = shown.filter((one) => one !== 'tool_call_delta');
    return sameJson(own, wanted) ? [] : [`it sent ${JSON.stringify(shown)}`];
  },
};

const atOnce: Check<OpenAiCompatibleSubject> = {
  promise: 'emits each piece of text before the next one is sent',
  violations: async (host, subject) => {
    const pieces = ['Hel', 'lo ', 'world'];
    const gates = pieces.map(() => createGate());
    const upstream = await startFakeOpenAi();
    upstream.always(
      openAi.streamsFrom(async function* () {
        for (const [index, content] of pieces.entries()) {
          yield chunk({ content });
          await gates[index]?.opened;
        }
        yield chunk({}, 'stop');
        yield endMark;
      }),
    );
    try {
      const seen: string[] = [];
      const outcome = await outcomeOf(async () => {
        // The next piece is sent only after this one was received: an adapter that buffers waits forever.
        for await (const event of ask(host, subject, upstream, callLimitMs / 2)) {
          if (event.type === 'content_delta') gates[seen.push(event.text) - 1]?.open();
        }
      });
      return outcome.ok && sameJson(seen, pieces) ? [] : [`it sent ${JSON.stringify(seen)}`];
    } finally {
      for (const gate of gates) gate.open();
      await upstream.stop();
    }
  },
};

const cutOff: Check<OpenAiCompatibleSubject> = {
  promise: 'accepts a stream only with a finish reason or an end mark',
  violations: async (host, subject) => {
    const text = chunk({ content: 'Hel' });
    const issues: string[] = [];
    const cut = await answered(host, subject, streams(text));
    if (cut.outcome.ok) issues.push('it accepted a stream that was cut off');
    else issues.push(...errorIssues(cut.outcome.error, 'provider_'));
    for (const [what, ending] of [
      ['a finish reason', chunk({}, 'stop')],
      ['an end mark', endMark],
    ] as const) {
      const { outcome } = await answered(host, subject, streams(text, ending));
      if (!outcome.ok) issues.push(`it refused a stream that ends with ${what}`);
    }
    return issues;
  },
};

export const openAiCompatibleSuite: Contract<OpenAiCompatibleSubject> = {
  point: 'provider',
  checks: () => [...replays.map(replay), mixed, atOnce, cutOff],
};

/**
 * The contract of an adapter for chat completions, in addition to that of every provider: it reads the streams of all
 * compatible APIs, which split tool calls in different ways.
 */
export function openAiCompatibleContract(name: string, subject: OpenAiCompatibleSubject): void {
  describeContract(`${name} reads streams of chat completions`, openAiCompatibleSuite, subject);
}
