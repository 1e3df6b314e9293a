import type { ExtensionPoints } from '../../points/index.js';
import type { TestHost } from '../create-test-host.js';

/** The contribution under test, with what every contract needs. */
export interface Subject {
  /** Boots a platform with the plugin, once per suite. The suite stops it. */
  readonly host: () => Promise<TestHost>;
  /** Key of the contribution. */
  readonly key: string;
  /** Members of a result that differ between calls, such as ids and times. */
  readonly changing?: readonly string[];
  /** How long a call may continue after its signal is aborted, in milliseconds. Default 2,000. */
  readonly graceMs?: number;
}

/** One promise of an extension point; `violations` returns a sentence per violation, none when it holds. */
export interface Check<S extends Subject> {
  readonly promise: string;
  violations(host: TestHost, subject: S): Promise<readonly string[]>;
}

/** The promises of one extension point. A promise that needs a sample is included only when the sample is given. */
export interface Contract<S extends Subject> {
  readonly point: keyof ExtensionPoints & string;
  checks(subject: S): readonly Check<S>[];
}

/** Defines a contract as mocha tests, one per promise. */
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
 * Checks a contract without mocha. Returns the violations by promise; empty when the plugin meets the contract.
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
