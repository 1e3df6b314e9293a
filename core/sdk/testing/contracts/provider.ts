import type { GenerateEvent, GenerateRequest, ModelToolDefinition } from '../../points/provider.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import {
  abortCheck,
  absence,
  callLimitMs,
  concurrencyCheck,
  factsCheck,
  failureCheck,
  independenceCheck,
  quietCheck,
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileTexts } from './hostile.js';
import { errorIssues, outcomeOf } from './outcome.js';

export interface ProviderSubject extends Subject {
  /** A request that succeeds. Default: a greeting without settings. */
  readonly request?: GenerateRequest;
  /** The same request gives the same response (default). `false` for a real model. */
  readonly repeatable?: boolean;
  /** A request whose response calls a tool. */
  readonly toolRequest?: GenerateRequest;
  /** A request whose response takes a second or longer. */
  readonly slow?: GenerateRequest;
  /** Requests that fail, such as one with a wrong key or to an upstream with invalid responses. */
  readonly failing?: readonly GenerateRequest[];
}

const greeting: GenerateRequest = {
  model: 'contract',
  messages: [{ role: 'user', content: 'A greeting that must not be logged: zanzibar-7731.' }],
  stream: false,
  settings: {},
};
const greetingMark = 'zanzibar-7731';

const anyTool: ModelToolDefinition = {
  name: 'contract_tool',
  description: 'Does nothing.',
  parameters: { type: 'object', properties: {} },
};

/** Returns all events of one response. */
async function ask(host: TestHost, key: string, request: GenerateRequest, options?: CallOptions) {
  const events: GenerateEvent[] = [];
  const asked = frozenCopy(request);
  const stream = host.points.stream('provider', key, (provider, ctx) => provider.generate(asked, ctx), {
    timeoutMs: callLimitMs,
    ...options,
  });
  for await (const event of stream) events.push(event);
  return events;
}

const requestOf = (subject: ProviderSubject): GenerateRequest => subject.request ?? greeting;

/** Finds problems in the order and form of a response's events. */
export function eventIssues(events: readonly GenerateEvent[]): readonly string[] {
  const issues: string[] = [];
  const kinds = events.map(({ type }) => type);
  const count = (type: GenerateEvent['type']): number => kinds.filter((kind) => kind === type).length;
  if (count('done') !== 1) issues.push(`there are ${count('done')} done events instead of one`);
  else if (kinds.at(-1) !== 'done') issues.push('done is not the last event');
  if (count('tool_calls_complete') > 1) issues.push('there is more than one tool_calls_complete');
  const calls = kinds.indexOf('tool_calls_complete');
  const lastDelta = kinds.findLastIndex((kind) => kind.endsWith('_delta'));
  if (calls >= 0 && lastDelta > calls) issues.push('a delta comes after tool_calls_complete');
  return [...issues, ...fragmentIssues(events), ...new Set(events.flatMap(formIssues))];
}

/** Fragments of tool calls are optional; those that are sent must add up to the complete calls. */
function fragmentIssues(events: readonly GenerateEvent[]): readonly string[] {
  const joined = new Map<number, { name: string; text: string }>();
  for (const event of events) {
    if (event.type !== 'tool_call_delta') continue;
    const { name = '', text } = joined.get(event.index) ?? { text: '' };
    joined.set(event.index, { name: event.name ?? name, text: text + event.arguments });
  }
  if (joined.size === 0) return [];
  const complete = events.find((event) => event.type === 'tool_calls_complete')?.toolCalls ?? [];
  const fits = [...joined.values()].every(({ name, text }) =>
    complete.some((call) => call.name === name && (call.arguments === text || text.trim() === '')),
  );
  return fits && complete.length === joined.size ? [] : ['the fragments of tool calls are not the complete calls'];
}

function formIssues(event: GenerateEvent): readonly string[] {
  switch (event.type) {
    case 'tool_call_delta':
      return Number.isInteger(event.index) && event.index >= 0 && typeof event.arguments === 'string'
        ? []
        : ['a fragment of a tool call lacks its index or its arguments text'];
    case 'reasoning_delta':
    case 'content_delta':
      return typeof event.text === 'string' ? [] : ['the text of a delta is not a string'];
    case 'tool_calls_complete': {
      if (!Array.isArray(event.toolCalls) || event.toolCalls.length === 0) return ['tool_calls_complete has no calls'];
      const wrong = event.toolCalls.some(
        ({ id, name, arguments: args }) => !id || !name || typeof id !== 'string' || typeof args !== 'string',
      );
      const ids = new Set(event.toolCalls.map(({ id }) => id));
      return [
        ...(wrong ? ['a tool call lacks its id, its name or its arguments text'] : []),
        ...(ids.size < event.toolCalls.length ? ['two tool calls have the same id'] : []),
      ];
    }
    case 'usage':
      return [event.inputTokens, event.outputTokens].every((tokens) => Number.isInteger(tokens) && tokens >= 0)
        ? []
        : ['usage is not reported in integers'];
    case 'done':
      return [];
    default:
      return [`unknown event type ${JSON.stringify((event as { type: unknown }).type)}`];
  }
}

/** Sends the requests one by one and finds problems of their events or errors. */
async function answerIssues(host: TestHost, key: string, requests: readonly GenerateRequest[], mayFail: boolean) {
  const issues: string[] = [];
  for (const request of requests) {
    const outcome = await outcomeOf(() => ask(host, key, request));
    if (outcome.ok) issues.push(...eventIssues(outcome.value));
    else {
      const wrong = errorIssues(outcome.error, 'provider_');
      issues.push(...(wrong.length > 0 || mayFail ? wrong : ['it failed']));
    }
  }
  return [...new Set(issues)];
}

const textOf = (events: readonly GenerateEvent[]): string =>
  events.map((event) => (event.type === 'content_delta' ? event.text : '')).join('');

const order: Check<ProviderSubject> = {
  promise: 'sends deltas, then at most one tool_calls_complete, and done last',
  violations: (host, subject) =>
    answerIssues(
      host,
      subject.key,
      [requestOf(subject), ...(subject.toolRequest ? [subject.toolRequest] : [])].flatMap((request) => [
        { ...request, stream: false },
        { ...request, stream: true },
      ]),
      false,
    ),
};

const capabilities: Check<ProviderSubject> = {
  promise: 'respects its capabilities: one delta without stream, no tool calls without toolCall',
  violations: async (host, subject) => {
    const { key } = subject;
    const facts = host.points.list('provider').find((one) => one.key === key)?.facts;
    if (!facts) return absence(host, 'provider', key);
    const request = { ...requestOf(subject), tools: [anyTool], stream: true };
    const outcome = await outcomeOf(() => ask(host, key, request));
    if (!outcome.ok) return [...errorIssues(outcome.error, 'provider_'), 'it failed with tools'];
    const deltas = outcome.value.filter(({ type }) => type === 'content_delta').length;
    const calls = outcome.value.some(({ type }) => type === 'tool_calls_complete');
    return [
      ...(!facts.capabilities.stream && deltas > 1 ? ['it sends several deltas although it cannot stream'] : []),
      ...(!facts.capabilities.toolCall && calls ? ['it calls a tool although it cannot call tools'] : []),
    ];
  },
};

const sameText: Check<ProviderSubject> = {
  promise: 'produces the same text with and without streaming',
  violations: async (host, subject) => {
    const texts = [];
    for (const stream of [false, true]) {
      const outcome = await outcomeOf(() => ask(host, subject.key, { ...requestOf(subject), stream }));
      if (!outcome.ok) return errorIssues(outcome.error, 'provider_');
      texts.push(textOf(outcome.value));
    }
    return texts[0] === texts[1] ? [] : ['the streamed text is different'];
  },
};

const readerLeaves: Check<ProviderSubject> = {
  promise: 'stops its work when the reader stops reading',
  violations: (host, subject) =>
    abortCheck<ProviderSubject>('provider', async (_, { key }, options) => {
      const request = { ...(subject.slow ?? requestOf(subject)), stream: true };
      const stream = host.points.stream('provider', key, (provider, ctx) => provider.generate(request, ctx), options);
      for await (const event of stream) if (event.type === 'content_delta') break;
    }).violations(host, subject),
};

const counting: Check<ProviderSubject> = {
  promise: 'counts tokens in integers, if it counts them',
  violations: async (host, subject) => {
    const outcome = await outcomeOf(() =>
      host.points.call(
        'provider',
        subject.key,
        async (provider, ctx) => provider.countTokens?.(frozenCopy(requestOf(subject)), ctx),
        { timeoutMs: callLimitMs },
      ),
    );
    if (!outcome.ok) return errorIssues(outcome.error, 'provider_');
    const tokens = outcome.value;
    return tokens === undefined || (Number.isInteger(tokens) && tokens >= 0) ? [] : [`it counted ${tokens} tokens`];
  },
};

const hostile: Check<ProviderSubject> = {
  promise: 'answers hostile messages or rejects them with a provider_* code',
  violations: (host, subject) => {
    const request = requestOf(subject);
    return answerIssues(
      host,
      subject.key,
      [
        { ...request, messages: [] },
        { ...request, messages: [{ role: 'user', content: [] }] },
        { ...request, messages: [{ role: 'tool', content: 'a result without a call', toolCallId: 'nobody' }] },
        { ...request, messages: [{ role: 'user', content: [{ type: 'unheard-of', what: 1 }] }] },
        { ...request, model: '__proto__' },
        ...hostileTexts.map((content) => ({ ...request, messages: [{ role: 'user' as const, content }] })),
      ],
      true,
    );
  },
};

export const providerSuite: Contract<ProviderSubject> = {
  point: 'provider',
  checks: (subject) => {
    const answer = (host: TestHost, { key }: ProviderSubject, options?: CallOptions) =>
      ask(host, key, requestOf(subject), options);
    const other = (host: TestHost, { key }: ProviderSubject) =>
      ask(host, key, { ...requestOf(subject), messages: [{ role: 'user', content: 'something else' }] });
    const repeatable = subject.repeatable ?? true;
    const withoutIds = async (host: TestHost, own: ProviderSubject) => textOf(await answer(host, own));
    return [
      factsCheck('provider'),
      order,
      capabilities,
      ...(repeatable ? [sameText, independenceCheck(withoutIds, other)] : []),
      concurrencyCheck(withoutIds, repeatable),
      abortCheck('provider', (host, { key }, options) => ask(host, key, subject.slow ?? requestOf(subject), options)),
      readerLeaves,
      counting,
      ...(subject.failing?.length
        ? [
            failureCheck<ProviderSubject>(
              'fails with a provider_* code',
              ({ key, failing = [] }) => failing.map((request) => (host) => ask(host, key, request)),
              'provider_',
            ),
          ]
        : []),
      hostile,
      ...(subject.request ? [] : [quietCheck<ProviderSubject>(greetingMark, answer)]),
      withdrawalCheck('provider', answer),
    ];
  },
};

/**
 * Defines the contract tests of a model provider.
 *
 * @example
 * providerContract('the demo provider', {
 *   host: () => createTestHost({ plugins: ['provider-demo'] }),
 *   key: 'demo',
 * });
 */
export function providerContract(name: string, subject: ProviderSubject): void {
  describeContract(`${name} meets the contract of providers`, providerSuite, subject);
}
