import { createSchemaCompiler } from '../../../schema/index.js';
import type { ExtensionPoints } from '../../points/index.js';
import type { CallOptions } from '../../points.js';
import type { TestHost } from '../create-test-host.js';
import type { Check, Subject } from './contract.js';
import { errorIssues, type Outcome, outcomeOf, sameJson } from './outcome.js';

export type PointName = keyof ExtensionPoints & string;

/** Time limit of one call in milliseconds, so that a call that never ends cannot block the suite. */
export const callLimitMs = 10_000;

const defaultGraceMs = 2_000;

/** A call to the plugin under test. */
export type SampleCall<S extends Subject, R = unknown> = (
  host: TestHost,
  subject: S,
  options?: CallOptions,
) => Promise<R>;

/** Returns the key of the plugin that provides a contribution. */
export function ownerOf(host: TestHost, point: PointName, key: string): string | undefined {
  return host.points.list(point).find((one) => one.key === key)?.plugin;
}

/** Returns why a contribution is missing; empty when it is active. */
export function absence(host: TestHost, point: PointName, key: string): readonly string[] {
  if (host.points.keys(point).includes(key)) return [];
  const inactive = host.control.list().filter((row) => row.desired === 'enabled' && row.state !== 'active');
  const why = inactive.map((row) => `${row.key} is ${row.state}: ${row.message}`).join('; ');
  return [`no active plugin contributes it${why ? ` (${why})` : ''}`];
}

/** Checks that the contribution is active and that its facts match the schema of its point. */
export function factsCheck<S extends Subject>(point: PointName): Check<S> {
  return {
    promise: 'is registered under its key, with facts that match the schema of its extension point',
    violations: async (host, { key }) => {
      const missing = absence(host, point, key);
      if (missing.length > 0) return missing;
      const { factsSchema } = host.app.kernel.registry.declaration(point);
      const facts = host.points.list(point).find((one) => one.key === key)?.facts;
      const schema = createSchemaCompiler().compile(factsSchema, { name: `facts of ${point}` });
      return schema.check(facts).map(({ path, message }) => `facts ${path || '/'} ${message}`);
    },
  };
}

/** Checks that the same call returns the same result, regardless of calls in between. */
export function independenceCheck<S extends Subject>(call: SampleCall<S>, between: SampleCall<S>): Check<S> {
  return {
    promise: 'returns the same result for the same call, regardless of calls in between',
    violations: async (host, subject) => {
      const first = await outcomeOf(() => call(host, subject));
      await outcomeOf(() => between(host, subject));
      const second = await outcomeOf(() => call(host, subject));
      return differences(first, second, 'the second call', subject.changing);
    },
  };
}

/** Checks that concurrent calls return what a single call returns. */
export function concurrencyCheck<S extends Subject>(call: SampleCall<S>, compare: boolean, calls = 20): Check<S> {
  return {
    promise: `serves ${calls} concurrent calls`,
    violations: async (host, subject) => {
      const alone = await outcomeOf(() => call(host, subject));
      const together = await Promise.all(Array.from({ length: calls }, () => outcomeOf(() => call(host, subject))));
      return [
        ...new Set(
          together.flatMap((one) =>
            compare
              ? differences(alone, one, 'a concurrent call', subject.changing)
              : one.ok
                ? []
                : errorIssuesOf(one.error),
          ),
        ),
      ];
    },
  };
}

function errorIssuesOf(error: unknown): readonly string[] {
  const issues = errorIssues(error);
  return issues.length > 0 ? issues : [`it failed concurrently (${(error as { code: string }).code})`];
}

function differences(
  one: Outcome<unknown>,
  other: Outcome<unknown>,
  what: string,
  changing: readonly string[] | undefined,
): readonly string[] {
  if (!one.ok) return errorIssuesOf(one.error);
  if (!other.ok) return errorIssuesOf(other.error);
  return sameJson(one.value, other.value, changing) ? [] : [`${what} returned a different result`];
}

/** Checks that a call ends soon after its signal is aborted, so that no work continues for a caller that has left. */
export function abortCheck<S extends Subject>(point: PointName, slow: SampleCall<S>): Check<S> {
  return {
    promise: 'stops its work when its signal is aborted',
    violations: async (host, subject) => {
      const { key, graceMs = defaultGraceMs } = subject;
      const missing = absence(host, point, key);
      if (missing.length > 0) return missing;
      const controller = new AbortController();
      const running = outcomeOf(() => slow(host, subject, { signal: controller.signal }));
      await turns(3);
      controller.abort();
      await running;
      const idle = await until(() => inFlight(host, point, key) === 0, graceMs);
      return idle ? [] : [`it was still running ${graceMs} ms after its signal was aborted`];
    },
  };
}

/** Number of calls in flight, as counted by the platform. */
function inFlight(host: TestHost, point: PointName, key: string): number {
  return host.app.kernel.registry.find(point, key)?.stats.inFlight ?? 0;
}

/** Checks that every failing sample is rejected with a coded error. */
export function failureCheck<S extends Subject>(
  promise: string,
  calls: (subject: S) => readonly ((host: TestHost) => Promise<unknown>)[],
  prefix = '',
): Check<S> {
  return {
    promise,
    violations: async (host, subject) => {
      const issues: string[] = [];
      for (const [index, run] of calls(subject).entries()) {
        const outcome = await outcomeOf(() => run(host));
        if (outcome.ok) issues.push(`sample ${index + 1} did not fail`);
        else issues.push(...errorIssues(outcome.error, prefix));
      }
      return issues;
    },
  };
}

/** Checks that no log line contains the text of a call. */
export function quietCheck<S extends Subject>(secretText: string, call: SampleCall<S>): Check<S> {
  return {
    promise: 'does not log message text',
    violations: async (host, subject) => {
      await outcomeOf(() => call(host, subject));
      return host.logs.some((line) => line.includes(secretText)) ? ['a log line contains the text of the call'] : [];
    },
  };
}

/** Checks that the contribution is withdrawn with its plugin and restored with it, without a fault. */
export function withdrawalCheck<S extends Subject>(point: PointName, call: SampleCall<S>): Check<S> {
  return {
    promise: 'is withdrawn when its plugin is disabled, and works again when it is enabled',
    violations: async (host, subject) => {
      const { key } = subject;
      const plugin = ownerOf(host, point, key);
      if (plugin === undefined) return absence(host, point, key);
      const before = (await outcomeOf(() => call(host, subject))).ok;
      await host.control.disable(plugin, { cascade: true });
      if (host.points.keys(point).includes(key)) return ['it is still active although its plugin is disabled'];
      const enabled = await outcomeOf(() => host.control.enable(plugin));
      if (!enabled.ok) return [`its plugin does not start a second time (${String(enabled.error)})`];
      const after = (await outcomeOf(() => call(host, subject))).ok;
      const fault = host.app.kernel.plugins.record(plugin)?.lastFault;
      return [
        ...(before && !after ? ['it no longer works after its plugin was disabled and enabled'] : []),
        ...(fault ? [`its plugin had a fault: ${fault.code}, ${fault.message}`] : []),
      ];
    },
  };
}

async function until(condition: () => boolean, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
