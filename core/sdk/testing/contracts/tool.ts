import { createSchemaCompiler } from '../../../schema/index.js';
import { extendContext } from '../../context.js';
import { MortiseError } from '../../errors.js';
import type { ToolContext, ToolFacts } from '../../points/tool.js';
import type { CallOptions } from '../../points.js';
import { localPrincipal, type TestHost } from '../create-test-host.js';
import {
  abortCheck,
  absence,
  callLimitMs,
  concurrencyCheck,
  factsCheck,
  independenceCheck,
  quietCheck,
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileCopies } from './hostile.js';
import { errorIssues, jsonObjectIssues, outcomeOf } from './outcome.js';

type Args = Readonly<Record<string, unknown>>;

export interface ToolSubject extends Subject {
  /** Valid arguments. The first are used for most promises. */
  readonly valid: readonly [Args, ...Args[]];
  /** Arguments that its schema rejects. */
  readonly invalid?: readonly Args[];
  /** Arguments that match the schema but fail, such as a missing file or an unknown name. */
  readonly failing?: readonly Args[];
  /** Arguments that make it take a second or longer. */
  readonly slow?: Args;
  /** A text in the first valid arguments that must not be logged. */
  readonly secretText?: string;
  /** The same arguments give the same result (default). `false` for tools that change or count something. */
  readonly repeatable?: boolean;
  /** Members that keep their value when hostile values are tried, because they would be run, deleted or sent. */
  readonly keep?: readonly string[];
  /** Context members that the callers of this tool add. */
  readonly context?: Partial<ToolContext>;
}

const refused = 'contract_arguments_refused';

function factsOf(host: TestHost, key: string): ToolFacts | undefined {
  return host.points.list('tool').find((one) => one.key === key && one.active)?.facts;
}

/** Runs a tool as every caller does: normalise, validate, run. */
async function run(host: TestHost, subject: ToolSubject, args: Args, options?: CallOptions): Promise<unknown> {
  const schema = createSchemaCompiler().compile(factsOf(host, subject.key)?.inputSchema ?? {}, { name: subject.key });
  const given = frozenCopy(args);
  return host.points.call(
    'tool',
    subject.key,
    async (tool, ctx) => {
      const normalised = tool.normalise?.(given) ?? given;
      const issues = schema.check(normalised);
      if (issues.length > 0) {
        const message = tool.explain?.(issues) ?? issues.map(({ path, message }) => `${path} ${message}`).join('; ');
        throw new MortiseError(refused, message, { status: 400 });
      }
      return tool.run(normalised, extendContext(ctx, { caller: 'direct' as const, ...subject.context }));
    },
    { timeoutMs: callLimitMs, principal: localPrincipal, ...options },
  );
}

const isRefusal = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === refused;

const results: Check<ToolSubject> = {
  promise: 'does not modify its arguments and returns a JSON object that matches its output schema',
  violations: async (host, subject) => {
    const facts = factsOf(host, subject.key);
    if (!facts) return absence(host, 'tool', subject.key);
    const output = facts.outputSchema && createSchemaCompiler().compile(facts.outputSchema, { name: 'output' });
    const issues: string[] = [];
    for (const [index, args] of subject.valid.entries()) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      if (outcome.ok) {
        const wrong = jsonObjectIssues(outcome.value);
        issues.push(...wrong);
        if (wrong.length === 0)
          for (const { path, message } of output?.check(outcome.value) ?? [])
            issues.push(`the result ${path || '/'} ${message}`);
      } else if (isRefusal(outcome.error)) issues.push(`the schema rejects the valid arguments ${index + 1}`);
      else issues.push(...errorIssues(outcome.error), `it fails with the valid arguments ${index + 1}`);
    }
    return issues;
  },
};

const refusals: Check<ToolSubject> = {
  promise: 'has a schema that rejects invalid arguments with a message',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const [index, args] of (subject.invalid ?? []).entries()) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      if (outcome.ok || !isRefusal(outcome.error)) issues.push(`the invalid arguments ${index + 1} reach the tool`);
      else issues.push(...errorIssues(outcome.error));
    }
    return issues;
  },
};

const failures: Check<ToolSubject> = {
  promise: 'fails with a code',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const [index, args] of (subject.failing ?? []).entries()) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      if (outcome.ok) issues.push(`the failing arguments ${index + 1} do not fail`);
      else issues.push(...errorIssues(outcome.error));
    }
    return issues;
  },
};

const hostile: Check<ToolSubject> = {
  promise: 'responds to hostile arguments with a JSON object or a code',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const args of subject.valid.flatMap((one) => hostileCopies(one, subject.keep))) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      issues.push(...(outcome.ok ? jsonObjectIssues(outcome.value) : errorIssues(outcome.error)));
    }
    return [...new Set(issues)];
  },
};

/** The caller stops waiting at the limit; {@link abortCheck} detects whether the tool continued. */
const timeLimit: Check<ToolSubject> = {
  promise: 'stops when its time limit has passed',
  violations: (host, subject) =>
    abortCheck<ToolSubject>('tool', (_, own) => run(host, own, own.slow ?? own.valid[0], { timeoutMs: 30 })).violations(
      host,
      subject,
    ),
};

export const toolSuite: Contract<ToolSubject> = {
  point: 'tool',
  checks: (subject) => {
    const [first] = subject.valid;
    const call = (host: TestHost, own: ToolSubject, options?: CallOptions) => run(host, own, first, options);
    const other = (host: TestHost, own: ToolSubject) => run(host, own, own.valid.at(-1) ?? first);
    const repeatable = subject.repeatable ?? true;
    return [
      factsCheck('tool'),
      results,
      ...(subject.invalid?.length ? [refusals] : []),
      ...(subject.failing?.length ? [failures] : []),
      ...(repeatable ? [independenceCheck(call, other)] : []),
      concurrencyCheck(call, repeatable),
      abortCheck('tool', (host, own, options) => run(host, own, own.slow ?? first, options)),
      ...(subject.slow ? [timeLimit] : []),
      hostile,
      ...(subject.secretText ? [quietCheck(subject.secretText, call)] : []),
      withdrawalCheck('tool', call),
    ];
  },
};

/**
 * Defines the contract tests of a tool.
 *
 * @example
 * toolContract('the tool echo', {
 *   host: () => createTestHost({ extra: [echo] }),
 *   key: 'echo',
 *   valid: [{ text: 'hello' }],
 *   invalid: [{}, { text: 7 }],
 * });
 */
export function toolContract(name: string, subject: ToolSubject): void {
  describeContract(`${name} meets the contract of tools`, toolSuite, subject);
}
