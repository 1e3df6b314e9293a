import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { CronChaosResult } from '../cron/run-cron-chaos.js';

const main = resolve(dirname(fileURLToPath(import.meta.url)), '..', 'main.js');

function chaos(...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, [main, 'cron', ...args], { cwd: join(main, '..') }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

describe('kills at random points, while jobs run every second', () => {
  let results: readonly CronChaosResult[] = [];
  let output = '';

  before(async function kill() {
    // A short version of `npm run chaos -- cron --kills 200`.
    this.timeout(600_000);
    const { stdout, stderr } = await chaos('--kills', '3', '--seed', '20261122', '--jobs', '20', '--json');
    output = stderr;
    results = stdout === '' ? [] : (JSON.parse(stdout) as { results: CronChaosResult[] }).results;
  });

  for (const [database, title] of [
    ['sqlite', 'on SQLite'],
    ['postgres', 'on PostgreSQL, which two processes share'],
  ] as const) {
    it(`neither miss nor duplicate a slot ${title}`, () => {
      const result = results.find((one) => one.database === database);
      expect(result?.violations ?? output).to.deep.equal([]);
      // A run with few events proves little.
      expect(result?.slots.succeeded).to.be.greaterThan(30);
      expect(result?.killed).to.equal(3);
    });
  }

  it('are refused with a pointer to --help when an argument is invalid', async () => {
    for (const args of [
      ['--kills', 'many'],
      ['--database', 'oracle'],
      ['--speed', '9'],
    ]) {
      const { code, stderr } = await chaos(...args);
      expect(code).to.equal(2);
      expect(stderr).to.contain('npm run chaos -- cron');
    }
  });
});
