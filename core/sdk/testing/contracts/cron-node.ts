import { createSchemaCompiler } from '../../../schema/index.js';
import { type CallContext, extendContext } from '../../context.js';
import type { CronNodeContext } from '../../points/cron-node.js';
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
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileCopies } from './hostile.js';
import { errorIssues, jsonObjectIssues, outcomeOf } from './outcome.js';

type Params = Readonly<Record<string, unknown>>;

export interface CronNodeSubject extends Subject {
  /** Valid parameters. The first ones are used for most promises. */
  readonly valid: readonly [Params, ...Params[]];
  /** Parameters that its schema rejects. */
  readonly invalid?: readonly Params[];
  /** Parameters that match the schema but fail. */
  readonly failing?: readonly Params[];
  /** Parameters that make it take a second or longer. */
  readonly slow?: Params;
  /** Outputs of the preceding nodes, by node id. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** Members of the context that the node depends on, such as `runText`. */
  readonly context?: Partial<CronNodeContext>;
  /** The same parameters give the same result (default). */
  readonly repeatable?: boolean;
  /** Members that keep their value when hostile values are tried. */
  readonly keep?: readonly string[];
}

function schemaOf(host: TestHost, key: string) {
  const facts = host.points.list('cron-node').find((one) => one.key === key && one.active)?.facts;
  return facts && createSchemaCompiler().compile(facts.paramsSchema, { name: key });
}

function run(host: TestHost, subject: CronNodeSubject, params: Params, options?: CallOptions) {
  const given = frozenCopy(params);
  return host.points.call('cron-node', subject.key, (node, ctx) => node.run(given, contextOf(ctx, subject)), {
    timeoutMs: callLimitMs,
    ...options,
  });
}

/** The context of the first node of a scheduled run. */
function contextOf(ctx: CallContext, { results, context }: CronNodeSubject): CronNodeContext {
  return extendContext(ctx, {
    runId: 'contract-run',
    jobId: 'contract-job',
    nodeId: 'contract-node',
    results: frozenCopy(results ?? {}),
    job: {
      name: 'contract',
      taskType: 'workflow',
      channel: 'console',
      userId: 'contract',
      sessionId: 'contract',
      timezone: 'UTC',
    },
    trigger: 'schedule' as const,
    scheduledAt: '2026-01-01T00:00:00Z',
    startedAt: new Date().toISOString(),
    nodeStartedAt: new Date().toISOString(),
    nodeElapsedMs: 0,
    deadline: Date.now() + callLimitMs,
    idempotencyKey: 'cron:contract-job:2026-01-01T00:00:00Z:contract-node',
    previous: { status: 'none' as const, reply: '' },
    runText: async (text: string) => ({ reply: `Re: ${text}` }),
    runTurn: async ({ text }: { readonly text: string }) => ({ reply: `Re: ${text}`, turnId: 'contract-turn' }),
    ...context,
  });
}

const results: Check<CronNodeSubject> = {
  promise: 'accepts parameters that match its schema and returns a JSON object',
  violations: async (host, subject) => {
    const schema = schemaOf(host, subject.key);
    if (!schema) return absence(host, 'cron-node', subject.key);
    const issues: string[] = [];
    for (const [index, params] of subject.valid.entries()) {
      if (schema.check(params).length > 0) issues.push(`the schema rejects the valid parameters ${index + 1}`);
      const outcome = await outcomeOf(() => run(host, subject, params));
      if (outcome.ok) issues.push(...jsonObjectIssues(outcome.value));
      else issues.push(...errorIssues(outcome.error), `it fails with the valid parameters ${index + 1}`);
    }
    return issues;
  },
};

const refusals: Check<CronNodeSubject> = {
  promise: 'has a schema that rejects invalid parameters',
  violations: async (host, subject) =>
    (subject.invalid ?? []).flatMap((params, index) =>
      schemaOf(host, subject.key)?.check(params).length === 0
        ? [`the schema accepts the invalid parameters ${index + 1}`]
        : [],
    ),
};

const hostile: Check<CronNodeSubject> = {
  promise: 'responds to hostile parameters that match its schema with a JSON object or a code',
  violations: async (host, subject) => {
    const schema = schemaOf(host, subject.key);
    const issues: string[] = [];
    for (const params of subject.valid.flatMap((one) => hostileCopies(one, subject.keep))) {
      if (schema?.check(params).length !== 0) continue;
      const outcome = await outcomeOf(() => run(host, subject, params));
      issues.push(...(outcome.ok ? jsonObjectIssues(outcome.value) : errorIssues(outcome.error)));
    }
    return [...new Set(issues)];
  },
};

export const cronNodeSuite: Contract<CronNodeSubject> = {
  point: 'cron-node',
  checks: (subject) => {
    const [first] = subject.valid;
    const call = (host: TestHost, own: CronNodeSubject, options?: CallOptions) => run(host, own, first, options);
    const other = (host: TestHost, own: CronNodeSubject) => run(host, own, own.valid.at(-1) ?? first);
    const repeatable = subject.repeatable ?? true;
    return [
      factsCheck('cron-node'),
      results,
      ...(subject.invalid?.length ? [refusals] : []),
      ...(subject.failing?.length
        ? [
            failureCheck<CronNodeSubject>('fails with a code', (own) =>
              (own.failing ?? []).map((params) => (host) => run(host, own, params)),
            ),
          ]
        : []),
      ...(repeatable ? [independenceCheck(call, other)] : []),
      concurrencyCheck(call, repeatable),
      abortCheck('cron-node', (host, own, options) => run(host, own, own.slow ?? first, options)),
      hostile,
      withdrawalCheck('cron-node', call),
    ];
  },
};

/**
 * Defines the contract tests of a cron node.
 *
 * @example
 * cronNodeContract('the node delay', {
 *   host: () => createTestHost({ plugins: ['cron-nodes'] }),
 *   key: 'delay',
 *   valid: [{ seconds: 0 }],
 *   slow: { seconds: 5 },
 * });
 */
export function cronNodeContract(name: string, subject: CronNodeSubject): void {
  describeContract(`${name} meets the contract of cron nodes`, cronNodeSuite, subject);
}
