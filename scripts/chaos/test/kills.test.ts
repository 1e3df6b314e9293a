import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { ChaosResult } from '../run-chaos.js';

const main = resolve(dirname(fileURLToPath(import.meta.url)), '..', 'main.js');

interface Outcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function chaos(...args: string[]): Promise<Outcome> {
  return new Promise((done) => {
    execFile(process.execPath, [main, ...args], { cwd: join(main, '..') }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

describe('kills at random points, while the memory backend misbehaves', () => {
  let outcome: Outcome;
  let results: readonly ChaosResult[];
  before(async function kill() {
    // A short version of `npm run chaos -- --kills 1000`, which mostly waits for processes to start.
    this.timeout(1_800_000);
    outcome = await chaos('--kills', '30', '--seed', '20261121', '--json');
    results = outcome.stdout === '' ? [] : (JSON.parse(outcome.stdout) as { results: ChaosResult[] }).results;
  });

  const resultOf = (database: string, backend: string) =>
    results.find((one) => one.database === database && one.backend === backend);

  for (const [database, title] of [
    ['sqlite', 'on SQLite'],
    ['postgres', 'on PostgreSQL, which two processes share'],
  ] as const) {
    it(`neither lose nor duplicate a memory ${title}`, () => {
      const result = resultOf(database, 'openmemory');
      expect(result?.violations ?? outcome.stderr).to.deep.equal([]);
      expect(result?.killed.boot ?? 0).to.be.greaterThan(0);
      expect((result?.killed.boot ?? 0) + (result?.killed.serving ?? 0)).to.equal(12);
      // A run with few events proves little.
      expect(result?.figures.requests.stored).to.be.greaterThan(20);
      expect(result?.figures.requests['stored elsewhere']).to.be.greaterThan(2);
      expect(result?.figures.outbox.sent).to.be.greaterThan(20);
      expect(result?.figures.events).to.include.keys('outbox_flush_retry');
      expect(result?.checks).to.equal(2);
    });

    it(`nor one in the product's own database ${title}`, () => {
      const result = resultOf(database, 'local');
      expect(result?.violations ?? outcome.stderr).to.deep.equal([]);
      expect((result?.killed.boot ?? 0) + (result?.killed.serving ?? 0)).to.equal(3);
      expect(result?.figures.requests.stored).to.be.greaterThan(10);
      expect(result?.figures.requests['stored elsewhere']).to.be.greaterThan(0);
    });
  }

  it('are refused with a pointer to --help when an argument is invalid', async () => {
    for (const args of [
      ['--kills', 'many'],
      ['--database', 'oracle'],
      ['--backend', 'paper'],
      ['--speed', '9'],
      ['--seed', '-1'],
    ]) {
      const { code, stdout, stderr } = await chaos(...args);
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.contain('"npm run chaos -- --help" lists the options');
    }
  });
});
