import type { Observation } from '../../observation.js';
import type { GateStage, GateStageContext, GateStageFacts, GateWork } from '../../points/gate-stage.js';
import type { TestHost } from '../create-test-host.js';
import { absence, factsCheck, withdrawalCheck } from './common-checks.js';
import { type Check, type Contract, describeContract, type Subject } from './contract.js';
import { frozenCopy } from './hostile.js';
import { sameJson } from './outcome.js';
import { randomObservations } from './random-observations.js';

export interface GateStageSubject extends Subject {
  /** Configuration of the gate, passed to the stage. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Number of random observations. Default 1,000. */
  readonly observations?: number;
  /** Seed of the random observations. Default 1. */
  readonly seed?: number;
  /** Limit of the 99th percentile in microseconds when the stage declares no budget. Default 1,000. */
  readonly budgetUs?: number;
}

/** Maximum number of entries in a stage's memory. */
const memoryLimit = 10_000;

/** The calls that a stage made for one observation, as a comparable value. */
type Trace = readonly (readonly unknown[])[];

interface Pass {
  readonly traces: readonly Trace[];
  readonly thenables: number;
  readonly errors: readonly string[];
  readonly changed: number;
  readonly microseconds: readonly number[];
  readonly memories: readonly number[];
}

/** Runs the stage over all observations, with an empty memory and a simulated clock. */
function pass(host: TestHost, subject: GateStageSubject, observations: readonly Observation[], dryRun = false): Pass {
  const memories = new Map<string, Map<string, unknown>>();
  const stage = host.points.pipeline('gate-stage').stages.find((one) => one.key === subject.key);
  const errors = new Set<string>();
  const microseconds: number[] = [];
  let thenables = 0;
  let changed = 0;
  const traces = observations.map((given, index): Trace => {
    const trace: unknown[][] = [];
    const seen = frozenCopy(given);
    const before = JSON.stringify(seen);
    const ctx: GateStageContext = {
      now: 1_000 + index * 10,
      config: frozenCopy(subject.config ?? {}),
      sessionKey: seen.session_key ?? 'system',
      sessionState: Object.freeze({}),
      systemHealth: Object.freeze({ overload: index % 7 === 0 }),
      dryRun,
      memory: (key) => {
        const known = memories.get(key) ?? new Map<string, unknown>();
        memories.set(key, known);
        return known;
      },
    };
    const startedAt = performance.now();
    try {
      const returned: unknown = stage?.run((value: GateStage) => value.apply(workOn(seen, trace), ctx));
      if (typeof (returned as { then?: unknown } | undefined)?.then === 'function') {
        thenables += 1;
        void Promise.resolve(returned).catch(() => undefined);
      }
    } catch (error) {
      errors.add(String(error).slice(0, 120));
    }
    microseconds.push((performance.now() - startedAt) * 1_000);
    if (JSON.stringify(seen) !== before) changed += 1;
    return trace;
  });
  return {
    traces,
    thenables,
    errors: [...errors],
    changed,
    microseconds,
    memories: [...memories.values()].map(({ size }) => size),
  };
}

function workOn(seen: Observation, trace: unknown[][]): GateWork {
  const record =
    (what: string) =>
    (...given: readonly unknown[]): void =>
      void trace.push([what, ...given]);
  return {
    observation: seen,
    propose: record('propose'),
    tag: record('tag'),
    feature: record('feature'),
    setScene: record('scene'),
    addScore: record('score'),
    emit: record('emit'),
  };
}

function sample({ observations = 1_000, seed = 1 }: GateStageSubject): readonly Observation[] {
  return randomObservations(observations, seed);
}

/** A promise about one pass over the random observations. */
function passCheck(promise: string, issues: (one: Pass, facts: GateStageFacts, subject: GateStageSubject) => string[]) {
  return {
    promise,
    violations: async (host, subject) => {
      const facts = host.points.list('gate-stage').find((one) => one.key === subject.key && one.active)?.facts;
      return facts
        ? issues(pass(host, subject, sample(subject)), facts, subject)
        : absence(host, 'gate-stage', subject.key);
    },
  } satisfies Check<GateStageSubject>;
}

const deterministic: Check<GateStageSubject> = {
  promise: 'decides 1,000 random observations the same way twice',
  violations: async (host, subject) => {
    const observations = sample(subject);
    const first = pass(host, subject, observations).traces;
    const second = pass(host, subject, observations).traces;
    const differing = first.filter((trace, index) => !sameJson(trace, second[index])).length;
    return differing === 0 ? [] : [`${differing} observations were decided differently the second time`];
  },
};

const dryRun: Check<GateStageSubject> = {
  promise: 'decides the same way in a dry run',
  violations: async (host, subject) => {
    const observations = sample(subject);
    const real = pass(host, subject, observations).traces;
    const dry = pass(host, subject, observations, true).traces;
    const differing = real.filter((trace, index) => !sameJson(trace[0] ?? [], dry[index]?.[0] ?? [])).length;
    return differing === 0 ? [] : [`${differing} observations were decided differently in a dry run`];
  },
};

function proposalIssues(trace: Trace): readonly string[] {
  return trace.flatMap(([what, first, second]) => {
    if (what === 'propose') {
      const known = ['drop', 'sink', 'deliver'].includes(String(first));
      const named = typeof second === 'string' && /^\S{1,128}$/.test(second);
      return [...(known ? [] : [`it proposes "${first}"`]), ...(named ? [] : ['a proposal has no one-word reason'])];
    }
    if (what === 'score') return Number.isFinite(first) ? [] : ['it adds a score that is not a finite number'];
    return [];
  });
}

function percentile99(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
}

export const gateStageSuite: Contract<GateStageSubject> = {
  point: 'gate-stage',
  checks: () => [
    factsCheck('gate-stage'),
    passCheck('returns no promise', ({ thenables }) => (thenables > 0 ? ['it returns a promise'] : [])),
    passCheck('handles every observation without an error and does not modify it', ({ errors, changed }) => [
      ...errors.map((error) => `it throws: ${error}`),
      ...(changed > 0 ? ['it changes the observation'] : []),
    ]),
    passCheck('proposes drop, sink or deliver, each with a reason', ({ traces }) => [
      ...new Set(traces.flatMap(proposalIssues)),
    ]),
    deterministic,
    dryRun,
    passCheck(`keeps at most ${memoryLimit} entries in a memory`, ({ memories }) =>
      memories.some((size) => size > memoryLimit) ? ['a memory grows without limit'] : [],
    ),
    passCheck('stays within its time budget at the 99th percentile', ({ microseconds }, facts, subject) => {
      const budget = facts.budgetUs ?? subject.budgetUs ?? 1_000;
      const taken = percentile99(microseconds);
      return taken > budget ? [`it takes ${Math.round(taken)} µs of its ${budget} µs`] : [];
    }),
    withdrawalCheck('gate-stage', async (host, subject) =>
      pass(host, subject, sample({ ...subject, observations: 10 })),
    ),
  ],
};

/**
 * Defines the contract tests of a gate stage.
 *
 * @example
 * gateStageContract('the stage no-night', {
 *   host: () => createTestHost({ extra: [noNight] }),
 *   key: 'no-night',
 * });
 */
export function gateStageContract(name: string, subject: GateStageSubject): void {
  describeContract(`${name} meets the contract of gate stages`, gateStageSuite, subject);
}
