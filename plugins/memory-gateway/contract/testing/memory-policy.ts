import type { CallOptions } from 'mortise/sdk';
import {
  abortCheck,
  type Check,
  type Contract,
  concurrencyCheck,
  describeContract,
  errorIssues,
  factsCheck,
  frozenCopy,
  hostileCopies,
  independenceCheck,
  outcomeOf,
  quietCheck,
  type Subject,
  type TestHost,
  withdrawalCheck,
} from 'mortise/sdk/testing';
import type { MemoryPolicyRequest, MemoryPolicyVerdict } from '../policy.js';

type Sample = Partial<MemoryPolicyRequest>;

export interface MemoryPolicySubject extends Subject {
  /** Requests with the kind of verdict each must get. */
  readonly samples?: readonly (Sample & { readonly verdict: MemoryPolicyVerdict['kind'] })[];
}

const textMark = 'zanzibar-7734';

const ordinary: MemoryPolicyRequest = {
  tool: 'memory_store',
  actorUserId: 'contract-user',
  requestedSpace: 'team:contract',
  targetSpace: 'team:contract',
  kind: null,
  content: `a memory that is not logged: ${textMark}`,
  meta: {},
  evidence: [],
};

function runPolicy(
  host: TestHost,
  subject: MemoryPolicySubject,
  sample: Sample,
  options?: CallOptions,
): Promise<MemoryPolicyVerdict> {
  const request = frozenCopy({ ...ordinary, ...sample });
  return host.points.call('memory-policy', subject.key, async (policy, ctx) => policy.run(request, ctx), options);
}

/** Violations of the form of a verdict. */
function verdictIssues(verdict: MemoryPolicyVerdict): readonly string[] {
  const text = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
  if (verdict?.kind === 'pass') return [];
  if (verdict?.kind !== 'reject' && verdict?.kind !== 'redirect') return ['it returns no verdict'];
  return [
    ...(text(verdict.reason) && text(verdict.message) ? [] : [`a ${verdict.kind} lacks its reason or its message`]),
    ...(verdict.kind === 'reject' || text(verdict.space) ? [] : ['a redirect names no space']),
  ];
}

const verdicts: Check<MemoryPolicySubject> = {
  promise: 'passes, redirects or rejects, with a reason and a message',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const [index, { verdict: wanted, ...sample }] of [
      ...(subject.samples ?? [{ verdict: undefined }]).entries(),
    ]) {
      const outcome = await outcomeOf(() => runPolicy(host, subject, sample));
      if (!outcome.ok) issues.push(...errorIssues(outcome.error), 'it throws, which rejects every request');
      else if (wanted && outcome.value?.kind !== wanted)
        issues.push(`sample ${index + 1} got ${outcome.value?.kind} instead of ${wanted}`);
      else issues.push(...verdictIssues(outcome.value));
    }
    return issues;
  },
};

const hostile: Check<MemoryPolicySubject> = {
  promise: 'decides on hostile memories within one second',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const sample of [
      ...hostileCopies(ordinary),
      { meta: JSON.parse('{"__proto__":{"admin":true}}') as Record<string, unknown> },
      { evidence: [{ uri: 7 }, {}] as MemoryPolicyRequest['evidence'] },
      { actorUserId: null },
    ]) {
      const outcome = await outcomeOf(() => runPolicy(host, subject, sample));
      issues.push(...(outcome.ok ? verdictIssues(outcome.value) : errorIssues(outcome.error)));
    }
    return [...new Set(issues)];
  },
};

export const memoryPolicySuite: Contract<MemoryPolicySubject> = {
  point: 'memory-policy',
  checks: () => {
    const call = (host: TestHost, own: MemoryPolicySubject, options?: CallOptions) => runPolicy(host, own, {}, options);
    const other = (host: TestHost, own: MemoryPolicySubject) => runPolicy(host, own, { content: 'something else' });
    return [
      factsCheck('memory-policy'),
      verdicts,
      independenceCheck(call, other),
      concurrencyCheck(call, true),
      abortCheck('memory-policy', call),
      hostile,
      quietCheck(textMark, call),
      withdrawalCheck('memory-policy', call),
    ];
  },
};

/**
 * Tests what every contribution to `memory-policy` promises.
 *
 * @example
 * memoryPolicyContract('the check no-drafts', {
 *   host: () => createTestHost({ extra: [noDrafts] }),
 *   key: 'no-drafts',
 *   samples: [{ kind: 'draft', verdict: 'reject' }, { kind: 'fact', verdict: 'pass' }],
 * });
 */
export function memoryPolicyContract(name: string, subject: MemoryPolicySubject): void {
  describeContract(`${name} meets the contract of memory policies`, memoryPolicySuite, subject);
}
