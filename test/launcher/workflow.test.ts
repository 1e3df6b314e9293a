import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkout } from './modules.js';

const workflow = readFileSync(join(checkout, '.github/workflows/ci.yml'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** The commands of each job, by its name. */
function commands(): Map<string, string[]> {
  const jobs = new Map<string, string[]>();
  for (const line of workflow.slice(workflow.indexOf('\njobs:')).split('\n')) {
    const name = /^ {2}([\w-]+):$/.exec(line)?.[1];
    if (name) jobs.set(name, []);
    const command = /^\s*(?:- )?run:\s*(.+)$/.exec(line)?.[1];
    if (command) [...jobs.values()].at(-1)?.push(command);
  }
  return jobs;
}

describe('the justfile', () => {
  it('has a recipe for each kind of test and for CI, and each runs an npm script', () => {
    const justfile = readFileSync(join(checkout, 'justfile'), 'utf8');
    const recipes = [...justfile.matchAll(/^([\w-]+)[^\n:]*:\n {4}npm (?:run )?([\w:]+)/gm)].map(([, name, script]) => [
      name,
      script,
    ]);
    expect(recipes).to.deep.equal([
      ['test', 'test'],
      ['test-unit', 'test:unit'],
      ['test-integration', 'test:integration'],
      ['ci', 'ci'],
    ]);
    for (const [, script = ''] of recipes) expect(script in scripts, script).to.equal(true);
  });
});

describe('the CI workflow', () => {
  it('runs only npm ci and scripts that exist', () => {
    const all = [...commands().values()].flat();
    expect(all.length).to.be.greaterThan(5);
    for (const command of all) {
      const script = /^npm (?:run )?([\w:]+)$/.exec(command)?.[1] ?? '';
      expect(command === 'npm ci' || script in scripts, command).to.equal(true);
    }
  });

  it('runs the same list as npm run ci', () => {
    expect(commands().get('test')?.slice(1).join(' && ')).to.equal(scripts.ci);
  });

  it('migrates the database of its PostgreSQL service before the tests', () => {
    const step = /- run: npm run migrate\n\s+env:\n((?:\s+DATABASE_\w+: .*\n)+)/.exec(workflow)?.[1] ?? '';
    expect(step.match(/DATABASE_\w+/g)).to.deep.equal(
      ['HOST', 'PORT', 'USER', 'PASSWORD', 'NAME', 'SCHEMA'].map((name) => `DATABASE_${name}`),
    );
  });

  it('tests the oldest supported Node, and an unsupported one', () => {
    const { engines } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
      engines: { node: string };
    };
    expect(engines.node).to.equal('>=22.14');
    expect(workflow).to.match(/node: \["22\.14\.0", "lts\/\*"\]/);
    expect(workflow).to.match(/node-version: "20"/);
  });
});
