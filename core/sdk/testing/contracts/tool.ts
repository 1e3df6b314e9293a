import { createSchemaCompiler } from '../../../schema/index.js';
import { extendContext } from '../../context.js';
import { MortiseError } from '../../errors.js';
import type { ToolContext, ToolFacts } from '../../points/tool.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
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
import { jsonObjectIssues } from './json-issues.js';
import { errorIssues, outcomeOf } from './outcome.js';

type Args = Readonly<Record<string, unknown>>;

export interface ToolSubject extends Subject {
  /** Arguments that the tool takes. The first is the one that most promises are tried with. */
  readonly valid: readonly [Args, ...Args[]];
  /** Arguments that its schema refuses. */
  readonly invalid?: readonly Args[];
  /** Arguments that fit the schema and fail: a missing file, an unknown name. */
  readonly failing?: readonly Args[];
  /** Arguments with which it works for a second or longer. */
  readonly slow?: Args;
  /** A text inside the first valid arguments that no log may hold. */
  readonly secretText?: string;
  /** The same arguments give the same result (default). `false` for tools that change or count something. */
  readonly repeatable?: boolean;
  /** Members that keep their value when hostile ones are tried: what would really be run, deleted or sent. */
  readonly keep?: readonly string[];
  /** What the callers of this tool add to its context. */
  readonly context?: Partial<ToolContext>;
}

const refused = 'contract_arguments_refused';

function factsOf(host: TestHost, key: string): ToolFacts | undefined {
  return host.points.list('tool').find((one) => one.key === key && one.active)?.facts;
}

/** As every caller runs a tool: its own rewriting first, then its schema, then the tool itself. */
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
        const words = tool.explain?.(issues) ?? issues.map(({ path, message }) => `${path} ${message}`).join('; ');
        throw new MortiseError(refused, words, { status: 400 });
      }
      return tool.run(normalised, extendContext(ctx, { caller: 'direct' as const, ...subject.context }));
    },
    { timeoutMs: callLimitMs, ...options },
  );
}

const isRefusal = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === refused;

const results: Check<ToolSubject> = {
  promise: 'takes its arguments as they are and answers with a JSON object that fits its output schema',
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
      } else if (isRefusal(outcome.error)) issues.push(`the schema refuses the valid arguments ${index + 1}`);
      else issues.push(...errorIssues(outcome.error), `it fails with the valid arguments ${index + 1}`);
    }
    return issues;
  },
};

const refusals: Check<ToolSubject> = {
  promise: 'has a schema that refuses wrong arguments, and says what is wrong',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const [index, args] of (subject.invalid ?? []).entries()) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      if (outcome.ok || !isRefusal(outcome.error)) issues.push(`the wrong arguments ${index + 1} reach the tool`);
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
  promise: 'answers hostile arguments with a JSON object or a code',
  violations: async (host, subject) => {
    const issues: string[] = [];
    for (const args of subject.valid.flatMap((one) => hostileCopies(one, subject.keep))) {
      const outcome = await outcomeOf(() => run(host, subject, args));
      issues.push(...(outcome.ok ? jsonObjectIssues(outcome.value) : errorIssues(outcome.error)));
    }
    return [...new Set(issues)];
  },
};

/** The caller waits no longer than the limit; {@link abortCheck} sees whether the tool went on. */
const timeLimit: Check<ToolSubject> = {
  promise: 'gives up when its time limit has passed',
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
 * What every tool promises.
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
  describeContract(`${name} keeps the contract of tools`, toolSuite, subject);
}
