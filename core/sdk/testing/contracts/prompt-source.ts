import { isAbsolute } from 'node:path';
import type { PromptLayer, PromptRequest } from '../../points/prompt-source.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import {
  abortCheck,
  concurrencyCheck,
  factsCheck,
  failureCheck,
  independenceCheck,
  quietCheck,
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileCopies } from './hostile.js';
import { errorIssues, outcomeOf } from './outcome.js';

export interface PromptSourceSubject extends Subject {
  /** Requests that it builds layers for. */
  readonly requests?: readonly PromptRequest[];
  /** Requests that fail, such as one for a missing file. */
  readonly failing?: readonly PromptRequest[];
}

const textMark = 'zanzibar-7735';
const ordinary: PromptRequest = {
  promptMode: 'default',
  sessionId: 'contract-session',
  userText: `a question that must not be logged: ${textMark}`,
};
const requestsOf = (subject: PromptSourceSubject): readonly PromptRequest[] => subject.requests ?? [ordinary];

function build(host: TestHost, subject: PromptSourceSubject, request: PromptRequest, options?: CallOptions) {
  const given = frozenCopy(request);
  return host.points.call('prompt-source', subject.key, (source, ctx) => source.build(given, ctx), options);
}

/** Finds problems of the layers that a source returned. */
function layerIssues(layers: readonly PromptLayer[]): readonly string[] {
  if (!Array.isArray(layers)) return ['the result is not a list of layers'];
  const issues = layers.flatMap((layer: Partial<PromptLayer> | null) => {
    const texts = [layer?.name, layer?.source, layer?.content];
    if (texts.some((text) => typeof text !== 'string')) return ['a layer lacks its name, its source or its content'];
    return [
      ...(layer?.role === 'system' ? [] : ['the role of a layer is not system']),
      ...(isAbsolute(layer?.source ?? '') ? ['the source of a layer is a local path'] : []),
    ];
  });
  return [...new Set(issues)];
}

async function issuesOf(
  host: TestHost,
  subject: PromptSourceSubject,
  requests: readonly PromptRequest[],
  mayFail: boolean,
) {
  const issues: string[] = [];
  for (const request of requests) {
    const outcome = await outcomeOf(() => build(host, subject, request));
    if (outcome.ok) issues.push(...layerIssues(outcome.value));
    else issues.push(...errorIssues(outcome.error), ...(mayFail ? [] : ['it failed']));
  }
  return [...new Set(issues)];
}

const layers: Check<PromptSourceSubject> = {
  promise: 'builds system layers with a name, a text and a source that is not a local path',
  violations: (host, subject) => issuesOf(host, subject, requestsOf(subject), false),
};

const hostile: Check<PromptSourceSubject> = {
  promise: 'builds layers for hostile requests or rejects them with a code',
  violations: (host, subject) =>
    issuesOf(
      host,
      subject,
      hostileCopies({
        ...ordinary,
        taskCommand: 'x',
        collaborationMode: 'x',
        modelSlug: 'x',
        ...requestsOf(subject)[0],
      }),
      true,
    ),
};

export const promptSourceSuite: Contract<PromptSourceSubject> = {
  point: 'prompt-source',
  checks: (subject) => {
    const [first = ordinary] = requestsOf(subject);
    const call = (host: TestHost, own: PromptSourceSubject, options?: CallOptions) => build(host, own, first, options);
    const other = (host: TestHost, own: PromptSourceSubject) =>
      build(host, own, { ...first, sessionId: 'another', userText: 'something else' });
    return [
      factsCheck('prompt-source'),
      layers,
      independenceCheck(call, other),
      concurrencyCheck(call, true),
      abortCheck('prompt-source', call),
      ...(subject.failing?.length
        ? [
            failureCheck<PromptSourceSubject>('fails with a code', (own) =>
              (own.failing ?? []).map((request) => (host) => build(host, own, request)),
            ),
          ]
        : []),
      hostile,
      ...(subject.requests ? [] : [quietCheck<PromptSourceSubject>(textMark, call)]),
      withdrawalCheck('prompt-source', call),
    ];
  },
};

/**
 * Defines the contract tests of a prompt source.
 *
 * @example
 * promptSourceContract('the base prompt', {
 *   host: () => createTestHost({ plugins: ['prompt-base'] }),
 *   key: 'base',
 * });
 */
export function promptSourceContract(name: string, subject: PromptSourceSubject): void {
  describeContract(`${name} meets the contract of prompt sources`, promptSourceSuite, subject);
}
