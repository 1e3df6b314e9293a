import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';
import { checksWith, countOf, runSuite, type SuiteRun } from './official-suite.js';

/** Which plugins it meets: the sample tools that it asks for alone, and behind the tools of the memory. */
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

/** What the suite is asked to run, and how many of its checks are known to apply here. */
const legs = [
  { title: 'the whole suite', args: ['--suite', 'all'], atLeast: 230 },
  { title: 'what revision 2025-06-18 has', args: ['--suite', 'all', '--spec-version', '2025-06-18'], atLeast: 56 },
  { title: 'what revision 2025-11-25 requires', args: ['--requirements', '2025-11-25'], atLeast: 80 },
  { title: 'what revision 2026-07-28 requires', args: ['--requirements', '2026-07-28'], atLeast: 196 },
] as const;

/** Checks of an extension that is not offered, and of one scenario whose harness its authors have set aside. */
const leftOut = /^(sep-2640-skills-[a-z]+|tasks-status-notifications): /;

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
    describe(`at ${offered}`, () => {
      // The suite mostly waits: all legs run at once, each against a server of its own.
      const runs = new Map<string, SuiteRun>();
      before(async () => {
        const run = async ({ title, args }: (typeof legs)[number]) => {
          runs.set(title, await runSuite(await start(keys), args));
        };
        await Promise.all(legs.map(run));
      });

      for (const { title, atLeast } of legs) {
        it(`finds nothing wrong in ${title}`, () => {
          const run = runs.get(title) as SuiteRun;
          const counts = (['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED'] as const).map(
            (one) => `${countOf(run, one)} ${one}`,
          );
          console.log(`        ${run.checks.size} scenarios: ${counts.join(', ').toLowerCase()}`);
          expect(checksWith(run, 'FAILURE', 'WARNING')).to.deep.equal([]);
          expect(checksWith(run, 'SKIPPED').filter((check) => !leftOut.test(check))).to.deep.equal([]);
          expect(run.exitCode, run.output).to.equal(0);
          expect(run.checks.size).to.equal(run.announced);
          expect(countOf(run, 'SUCCESS')).to.be.at.least(atLeast);
        });
      }
    });
  }

  it('does find what is wrong', async () => {
    const run = await runSuite(await start(['mcp-server']), ['--scenario', 'tools-call-simple-text']);
    expect(run.exitCode).to.equal(1);
    expect(checksWith(run, 'FAILURE').join()).to.match(/^tools-call-simple-text: .*test_simple_text/);
  });
});
