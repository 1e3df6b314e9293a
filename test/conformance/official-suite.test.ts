import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';
import { checksWith, countOf, runSuite, type SuiteRun } from './official-suite.js';

/** Plugins of the servers under test: the sample tools alone, and together with the memory tools. */
const servers = [
  { title: 'the sample tools', keys: ['mcp-server', 'mcp-conformance'] },
  {
    title: 'the memory and the sample tools',
    keys: [
      'logbook',
      'text-analysis',
      'memory-backend-local',
      'memory-gateway',
      'evidence-store',
      'mcp-server',
      'mcp-conformance',
    ],
  },
] as const;

/** Selections of the suite, and how many of their checks must succeed. */
const selections = [
  { title: 'the whole suite', args: ['--suite', 'all'], atLeast: 233 },
  { title: 'the checks of revision 2025-06-18', args: ['--suite', 'all', '--spec-version', '2025-06-18'], atLeast: 56 },
  { title: 'the requirements of revision 2025-11-25', args: ['--requirements', '2025-11-25'], atLeast: 83 },
  { title: 'the requirements of revision 2026-07-28', args: ['--requirements', '2026-07-28'], atLeast: 196 },
] as const;

/** Skipped by the suite: checks of an extension that is not offered, and a scenario that its authors disabled. */
const expectedSkips = /^(sep-2640-skills-[a-z]+|tasks-status-notifications): /;

const plugins = (keys: readonly string[]) => ({
  version: 1,
  plugins: Object.fromEntries(keys.map((key) => [key, { enabled: true }])),
});

describe('the official MCP conformance suite', function () {
  this.timeout(180_000);
  const started: ServerProcess[] = [];
  const start = async (keys: readonly string[]): Promise<string> => {
    const server = await startServer({ plugins: plugins(keys), limitMs: 60_000 });
    started.push(server);
    return server.origin;
  };
  after(() => Promise.all(started.map((server) => server.dispose())));

  for (const { title: offered, keys } of servers) {
    describe(`with ${offered}`, () => {
      // The suite mostly waits, so all selections run concurrently, each against its own server.
      const runs = new Map<string, SuiteRun>();
      before(async () => {
        const run = async ({ title, args }: (typeof selections)[number]) => {
          runs.set(title, await runSuite(await start(keys), args));
        };
        await Promise.all(selections.map(run));
      });

      for (const { title, atLeast } of selections) {
        it(`passes ${title}`, () => {
          const run = runs.get(title) as SuiteRun;
          const counts = (['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED'] as const).map(
            (one) => `${countOf(run, one)} ${one}`,
          );
          console.log(`        ${run.checks.size} scenarios: ${counts.join(', ').toLowerCase()}`);
          expect(checksWith(run, 'FAILURE', 'WARNING')).to.deep.equal([]);
          expect(checksWith(run, 'SKIPPED').filter((check) => !expectedSkips.test(check))).to.deep.equal([]);
          expect(run.exitCode, run.output).to.equal(0);
          expect(run.checks.size).to.equal(run.announced);
          expect(countOf(run, 'SUCCESS')).to.be.at.least(atLeast);
        });
      }
    });
  }

  it('fails without the sample tools', async () => {
    const run = await runSuite(await start(['mcp-server']), ['--scenario', 'tools-call-simple-text']);
    expect(run.exitCode).to.equal(1);
    expect(checksWith(run, 'FAILURE').join()).to.match(/^tools-call-simple-text: .*test_simple_text/);
  });
});
