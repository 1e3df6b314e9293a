import type { CommandInput, CommandResult } from '../../points/command.js';
import type { CallOptions } from '../../points.js';
import { localPrincipal, type TestHost } from '../create-test-host.js';
import {
  abortCheck,
  callLimitMs,
  concurrencyCheck,
  factsCheck,
  independenceCheck,
  withdrawalCheck,
} from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy, hostileTexts } from './hostile.js';
import { errorIssues, jsonIssues, outcomeOf, sameJson } from './outcome.js';

export type CommandSample = Partial<CommandInput>;

export interface CommandSubject extends Subject {
  /** An input that succeeds. Default: no arguments. */
  readonly done?: CommandSample;
  /** Inputs that are refused or have findings: exit 1, or a coded error. */
  readonly refused?: readonly CommandSample[];
  /** Invalid inputs: exit 2. */
  readonly wrongUsage?: readonly CommandSample[];
  /** An input that takes a second or longer. */
  readonly slow?: CommandSample;
  /** The same input gives the same result (default). `false` for commands that change something. */
  readonly repeatable?: boolean;
  /** Try hostile arguments (default). `false` where an argument is really run, deleted or sent. */
  readonly hostile?: boolean;
}

function run(host: TestHost, subject: CommandSubject, sample: CommandSample, options?: CallOptions) {
  const input: CommandInput = frozenCopy({ args: [], options: {}, json: false, ...sample });
  return host.points.call('command', subject.key, (command, ctx) => command.run(input, ctx), {
    timeoutMs: callLimitMs,
    principal: localPrincipal,
    ...options,
  });
}

function resultIssues(result: CommandResult): readonly string[] {
  if (typeof result !== 'object' || result === null) return ['it returns no result'];
  return [
    ...([0, 1, 2].includes(result.exitCode) ? [] : [`the exit code is ${result.exitCode} instead of 0, 1 or 2`]),
    ...(typeof result.text === 'string' ? [] : ['there is no text for people']),
    ...(result.data === undefined ? ['there is no data for scripts'] : jsonIssues(result.data, 'the data')),
  ];
}

async function issuesOf(
  host: TestHost,
  subject: CommandSubject,
  samples: readonly CommandSample[],
  exits: readonly number[],
) {
  const issues: string[] = [];
  for (const [index, sample] of samples.entries()) {
    const outcome = await outcomeOf(() => run(host, subject, sample));
    if (!outcome.ok) {
      issues.push(...errorIssues(outcome.error));
      if (!exits.includes(1)) issues.push(`sample ${index + 1} throws`);
      continue;
    }
    issues.push(...resultIssues(outcome.value));
    if (!exits.includes(outcome.value?.exitCode))
      issues.push(`sample ${index + 1} ends with ${outcome.value?.exitCode} instead of ${exits.join(' or ')}`);
  }
  return [...new Set(issues)];
}

const done: Check<CommandSubject> = {
  promise: 'exits with 0, with data for scripts and text for people',
  violations: (host, subject) => issuesOf(host, subject, [subject.done ?? {}], [0]),
};

const refusals: Check<CommandSubject> = {
  promise: 'exits with 1 or a coded error when it is refused',
  violations: (host, subject) => issuesOf(host, subject, subject.refused ?? [], [1]),
};

const usage: Check<CommandSubject> = {
  promise: 'exits with 2 on wrong usage',
  violations: (host, subject) => issuesOf(host, subject, subject.wrongUsage ?? [], [2]),
};

const sameData: Check<CommandSubject> = {
  promise: 'returns the same data with and without --json',
  violations: async (host, subject) => {
    const plain = await outcomeOf(() => run(host, subject, { ...subject.done, json: false }));
    const json = await outcomeOf(() => run(host, subject, { ...subject.done, json: true }));
    if (!plain.ok) return errorIssues(plain.error);
    if (!json.ok) return errorIssues(json.error);
    return sameJson(plain.value.data, json.value.data, subject.changing) ? [] : ['the data differ with --json'];
  },
};

/** Only the CLI prints: the command may run in a different process than the terminal's. */
const prints: Check<CommandSubject> = {
  promise: 'prints nothing itself',
  violations: async (host, subject) => {
    const written: string[] = [];
    const { write } = process.stdout;
    process.stdout.write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
    try {
      await outcomeOf(() => run(host, subject, subject.done ?? {}));
    } finally {
      process.stdout.write = write;
    }
    return written.length === 0 ? [] : ['it writes to the standard output itself'];
  },
};

const hostile: Check<CommandSubject> = {
  promise: 'responds to hostile arguments with a result or a code',
  violations: (host, subject) =>
    issuesOf(
      host,
      subject,
      hostileTexts.flatMap((text) => [
        { ...subject.done, args: [...(subject.done?.args ?? []), text] },
        { ...subject.done, options: { ...subject.done?.options, unheard_of: text } },
      ]),
      [0, 1, 2],
    ),
};

export const commandSuite: Contract<CommandSubject> = {
  point: 'command',
  checks: (subject) => {
    const call = (host: TestHost, own: CommandSubject, options?: CallOptions) =>
      run(host, own, own.done ?? {}, options);
    const repeatable = subject.repeatable ?? true;
    return [
      factsCheck('command'),
      done,
      ...(subject.refused?.length ? [refusals] : []),
      ...(subject.wrongUsage?.length ? [usage] : []),
      ...(repeatable
        ? [sameData, independenceCheck<CommandSubject>(call, (host, own) => run(host, own, { args: ['else'] }))]
        : []),
      prints,
      concurrencyCheck(call, repeatable, 5),
      abortCheck('command', (host, own, options) => run(host, own, own.slow ?? own.done ?? {}, options)),
      ...((subject.hostile ?? true) ? [hostile] : []),
      withdrawalCheck('command', call),
    ];
  },
};

/**
 * Defines the contract tests of a CLI command.
 *
 * @example
 * commandContract('mortise memory reconcile', {
 *   host: () => createTestHost({ plugins: ['memory-reconcile'] }),
 *   key: 'memory-reconcile',
 *   wrongUsage: [{ args: ['no-such-argument'] }],
 * });
 */
export function commandContract(name: string, subject: CommandSubject): void {
  describeContract(`${name} meets the contract of commands`, commandSuite, subject);
}
