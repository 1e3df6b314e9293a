import type { CallOptions } from 'mortise/sdk';
import {
  abortCheck,
  absence,
  type Check,
  type Contract,
  callLimitMs,
  concurrencyCheck,
  describeContract,
  errorIssues,
  factsCheck,
  frozenCopy,
  hostileTexts,
  independenceCheck,
  outcomeOf,
  quietCheck,
  type Subject,
  type TestHost,
  withdrawalCheck,
} from 'mortise/sdk/testing';
import type { EmbedderFacts } from '../embedder.js';

export interface EmbedderSubject extends Subject {
  /** Texts to turn into vectors. */
  readonly texts?: readonly string[];
  /** Maximum difference of two vectors of one text, per number. Default 1e-6. */
  readonly tolerance?: number;
}

const textMark = 'zanzibar-7733';
const samples = [`the harbour opens at six ${textMark}`, 'ships', '港口六点开门'];
const textsOf = (subject: EmbedderSubject): readonly string[] => subject.texts ?? samples;

function embed(host: TestHost, subject: EmbedderSubject, texts: readonly string[], options?: CallOptions) {
  const given = frozenCopy(texts);
  return host.points.call(
    'embedder',
    subject.key,
    (embedder, ctx) => embedder.embed({ texts: given, kind: 'document' }, ctx),
    {
      timeoutMs: callLimitMs,
      ...options,
    },
  );
}

function factsOf(host: TestHost, key: string): EmbedderFacts | undefined {
  return host.points.list('embedder').find((one) => one.key === key)?.facts;
}

/** Faults of the vectors of some texts. */
function vectorIssues(vectors: unknown, texts: readonly string[], dimensions: number): readonly string[] {
  if (!Array.isArray(vectors)) return ['the result is not a list'];
  if (vectors.length !== texts.length) return [`${texts.length} texts gave ${vectors.length} vectors`];
  const issues = vectors.flatMap((vector: unknown) => {
    if (!(vector instanceof Float32Array) && !Array.isArray(vector)) return ['a vector is no list of numbers'];
    if (vector.length !== dimensions) return [`a vector has ${vector.length} numbers instead of ${dimensions}`];
    return Array.from(vector as Iterable<unknown>).every(Number.isFinite)
      ? []
      : ['a vector contains a value that is not a finite number'];
  });
  return [...new Set(issues)];
}

async function issuesOf(
  host: TestHost,
  subject: EmbedderSubject,
  lists: readonly (readonly string[])[],
  mayFail: boolean,
) {
  const facts = factsOf(host, subject.key);
  if (!facts) return absence(host, 'embedder', subject.key);
  const issues: string[] = [];
  for (const texts of lists) {
    const outcome = await outcomeOf(() => embed(host, subject, texts));
    if (outcome.ok) issues.push(...vectorIssues(outcome.value, texts, facts.dimensions));
    else issues.push(...errorIssues(outcome.error), ...(mayFail ? [] : ['it failed']));
  }
  return [...new Set(issues)];
}

const vectors: Check<EmbedderSubject> = {
  promise: 'returns one vector of the declared dimensions per text, and none for an empty list',
  violations: (host, subject) => issuesOf(host, subject, [textsOf(subject), []], false),
};

const order: Check<EmbedderSubject> = {
  promise: 'returns vectors in the order of the texts, independent of the other texts',
  violations: async (host, subject) => {
    const texts = textsOf(subject);
    const together = await outcomeOf(() => embed(host, subject, texts));
    if (!together.ok) return errorIssues(together.error);
    const issues: string[] = [];
    for (const [index, text] of texts.entries()) {
      const alone = await outcomeOf(() => embed(host, subject, [text]));
      if (!alone.ok) issues.push(...errorIssues(alone.error));
      else if (!near(alone.value[0], together.value[index], subject.tolerance ?? 1e-6))
        issues.push(`text ${index + 1} has another vector when it is embedded alone`);
    }
    return issues;
  },
};

type Vector = Float32Array | readonly number[];

function near(one: Vector | undefined, other: Vector | undefined, tolerance: number): boolean {
  if (one?.length !== other?.length) return false;
  return Array.from(one ?? []).every((value, index) => Math.abs(value - (other?.[index] ?? Number.NaN)) <= tolerance);
}

const hostile: Check<EmbedderSubject> = {
  promise: 'embeds hostile texts or rejects them with a code',
  violations: (host, subject) => issuesOf(host, subject, [hostileTexts, ...hostileTexts.map((text) => [text])], true),
};

export const embedderSuite: Contract<EmbedderSubject> = {
  point: 'embedder',
  checks: (subject) => {
    const call = (host: TestHost, own: EmbedderSubject, options?: CallOptions) =>
      embed(host, own, textsOf(own), options);
    const other = (host: TestHost, own: EmbedderSubject) => embed(host, own, ['something else']);
    const exact = subject.tolerance === undefined;
    return [
      factsCheck('embedder'),
      vectors,
      order,
      ...(exact ? [independenceCheck(call, other)] : []),
      concurrencyCheck(call, exact),
      abortCheck('embedder', (host, own, options) =>
        embed(
          host,
          own,
          Array.from({ length: 500 }, (_, index) => `text number ${index}`),
          options,
        ),
      ),
      hostile,
      ...(subject.texts ? [] : [quietCheck<EmbedderSubject>(textMark, call)]),
      withdrawalCheck('embedder', call),
    ];
  },
};

/**
 * The contract suite of embedders.
 *
 * @example
 * embedderContract('the hashed embedder', {
 *   host: () => createTestHost({ plugins: ['embedder-hashed'] }),
 *   key: 'hashed',
 * });
 */
export function embedderContract(name: string, subject: EmbedderSubject): void {
  describeContract(`${name} meets the contract of embedders`, embedderSuite, subject);
}
