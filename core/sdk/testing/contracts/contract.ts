import type { ExtensionPoints } from '../../points/index.js';
import type { TestHost } from '../create-test-host.js';

/** What every contract is told of the plugin under test. */
export interface Subject {
  /** Boots a platform with the plugin in it. Once per suite; the suite stops it. */
  readonly host: () => Promise<TestHost>;
  /** Key of the contribution. */
  readonly key: string;
  /** Members of a result that differ from one call to the next: ids, times. */
  readonly changing?: readonly string[];
  /** How long a call may go on after its signal was aborted, milliseconds. Default 2,000. */
  readonly graceMs?: number;
}

/** One promise of an extension point, as a function: what breaks it, a sentence each; none when it is kept. */
export interface Check<S extends Subject> {
  readonly promise: string;
  violations(host: TestHost, subject: S): Promise<readonly string[]>;
}

/** The promises of one extension point. A promise that needs a sample is there only when the sample was given. */
export interface Contract<S extends Subject> {
  readonly point: keyof ExtensionPoints & string;
  checks(subject: S): readonly Check<S>[];
}

/** Describes a contract as mocha tests, one for each promise. */
export function describeContract<S extends Subject>(title: string, contract: Contract<S>, subject: S): void {
  describe(title, function () {
    this.timeout(60_000);
    let host: TestHost | undefined;
    before(async () => {
      host = await subject.host();
    });
    after(() => host?.stop());
    for (const check of contract.checks(subject)) {
      it(check.promise, async () => {
        if (!host) throw new Error('The host of the suite did not start.');
        const found = await check.violations(host, subject);
        if (found.length > 0) throw new Error(`${contract.point} "${subject.key}": ${found.join('; ')}`);
      });
    }
  });
}

/**
 * The same without mocha: what is broken, by promise. Empty when the plugin keeps all of them.
 *
 * @example expect([...(await checkContract(toolSuite, { host, key: 'echo', valid: [{}] })).keys()]).to.deep.equal([]);
 */
export async function checkContract<S extends Subject>(
  contract: Contract<S>,
  subject: S,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const host = await subject.host();
  try {
    const broken = new Map<string, readonly string[]>();
    for (const check of contract.checks(subject)) {
      const found = await check.violations(host, subject);
      if (found.length > 0) broken.set(check.promise, found);
    }
    return broken;
  } finally {
    await host.stop();
  }
}
