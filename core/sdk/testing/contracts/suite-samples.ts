import { expect } from 'chai';
import type { PluginDefinition, RegisterHost } from '../../plugin.js';
import type { ExtensionPoints } from '../../points/index.js';
import { createTestHost, type TestHost, type TestPlugin } from '../create-test-host.js';
import { type Contract, checkContract, type Subject } from './contract.js';

/** A plugin that breaks one promise, and the subject that the suite gets. */
export interface Sample<P extends keyof ExtensionPoints & string, S extends Subject> {
  /** Creates the contribution, at each start. */
  readonly make: (host: RegisterHost) => ExtensionPoints[P];
  readonly manifest?: Partial<TestPlugin['manifest']>;
  readonly start?: PluginDefinition['start'];
  /** Overrides the subject of the correct plugin. */
  readonly subject?: Partial<Omit<S, 'host' | 'key'>>;
}

export interface SuiteSamples<P extends keyof ExtensionPoints & string, S extends Subject> {
  readonly good: Sample<P, S>;
  /** Subject of every sample. Include every optional sample, so that all promises are checked. */
  readonly subject: Omit<S, 'host' | 'key'>;
  readonly env?: Readonly<Record<string, string>>;
  /** Plugins to enable, such as the owner of the point. */
  readonly plugins?: readonly string[];
  /** Incorrect plugins by the promise that each breaks. */
  readonly bad: Readonly<Record<string, Sample<P, S>>>;
}

/** Tests a suite: a correct plugin passes, and each promise has an incorrect plugin that it detects. */
export function testSuite<P extends keyof ExtensionPoints & string, S extends Subject>(
  contract: Contract<S> & { readonly point: P },
  samples: SuiteSamples<P, S>,
): void {
  const { point } = contract;
  const bad = Object.entries(samples.bad);
  const keyOf = (index: number): string => `bad-${index}`;
  const subjectOf = (sample: Sample<P, S>, key: string, host: () => Promise<TestHost>): S =>
    ({ graceMs: 150, ...samples.subject, ...sample.subject, key, host }) as unknown as S;

  describe(`the contract of the point ${point}`, function () {
    this.timeout(60_000);
    let shared: TestHost;
    const host = async (): Promise<TestHost> => ({ ...shared, stop: async () => undefined });

    before(async () => {
      shared = await createTestHost({
        ...(samples.env ? { env: samples.env } : {}),
        ...(samples.plugins ? { plugins: samples.plugins } : {}),
        extra: [
          pluginOf(point, 'good', samples.good),
          ...bad.map(([, sample], index) => pluginOf(point, keyOf(index), sample)),
        ],
      });
    });
    after(() => shared.stop());

    it('passes for a correct plugin', async () => {
      const broken = await checkContract(contract, subjectOf(samples.good, 'good', host));
      expect([...broken]).to.deep.equal([]);
    });

    it('has an incorrect plugin for each of its promises', () => {
      const promises = contract.checks(subjectOf(samples.good, 'good', host)).map(({ promise }) => promise);
      expect(promises.toSorted()).to.deep.equal(Object.keys(samples.bad).toSorted());
    });

    for (const [index, [promise, sample]] of bad.entries()) {
      it(`detects a plugin that does not meet: ${promise}`, async () => {
        const key = keyOf(index);
        const subject = subjectOf(sample, key, host);
        const check = contract.checks(subject).find((one) => one.promise === promise);
        // Otherwise every promise would fail because the contribution is missing.
        if (!promise.startsWith('is registered')) expect(shared.points.keys(point)).to.include(key);
        expect(await check?.violations(shared, subject), promise).to.have.length.above(0);
      });
    }
  });
}

function pluginOf<P extends keyof ExtensionPoints & string, S extends Subject>(
  point: P,
  key: string,
  { make, manifest, start }: Sample<P, S>,
): TestPlugin {
  return {
    manifest: { key, contributes: { [point]: [key] }, ...manifest },
    definition: () => ({
      key,
      register: (host: RegisterHost) => void host.contribute(point, key, make(host)),
      ...(start ? { start } : {}),
    }),
  };
}

export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits, and rejects when the signal is aborted. */
export function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
