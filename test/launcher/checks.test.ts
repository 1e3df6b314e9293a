import { join } from 'node:path';
import { expect } from 'chai';
import { type Running, run } from './process.js';
import { createProject, type Project } from './project.js';

const test = (name: string, body: string): string => `it('${name}', () => {\n  ${body}\n});\n`;

describe('npm test', () => {
  let project: Project;
  beforeEach(() => {
    project = createProject();
    project.write('core/one/test/passes.test.ts', test('passes', `process.stdout.write('');`));
  });
  afterEach(() => project.remove());

  const npmTest = (...args: string[]): Running =>
    run(process.execPath, [join(project.root, 'scripts/test.mjs'), ...args], { cwd: project.root });
  const headings = (text: string) => text.match(/^== [^\d].*(ok|FAILED)/gm);
  const totals = (text: string) => text.match(/^\d+ passed, \d+ failed$/gm);

  it('is green when types, lint and tests are, and ends with the totals', async () => {
    const green = npmTest();
    expect((await green.ended).code, green.text() + green.errors()).to.equal(0);
    expect(headings(green.text())).to.deep.equal(['== Types and build: ok', '== Lint: ok', '== Tests: ok']);
    expect(totals(green.text())).to.deep.equal(['1 passed, 0 failed']);
    expect(green.text().trimEnd().split('\n').at(-1)).to.equal('1 passed, 0 failed');
  });

  it('has unit tests that reach no network and no database', async () => {
    const opens = `import { createServer } from 'node:net';\nexport const opens = () => createServer().listen(0);\n`;
    project.write('core/one/opens.ts', opens);
    const calls = `import { opens } from '../opens.js';\n${test('opens a port', 'opens();')}`;
    project.write('core/one/test/passes.test.ts', calls);
    project.write('core/one/test/starts.test.ts', `import 'node:http';\n${test('is an integration test', '')}`);
    const unit = run(process.execPath, [join(project.root, 'scripts/check.mjs'), 'unit'], { cwd: project.root });
    expect((await unit.ended).code).to.equal(1);
    expect(unit.text()).to.contain('a unit test may not listen');
    expect(totals(unit.text())).to.deep.equal(['0 passed, 1 failed']);
  });

  it('is red for a type error, a lint error and a failing test, and runs all of them', async () => {
    project.write('core/one/wrong-type.ts', `export const wrong: number = 'text';\n`);
    project.write('core/one/wrong-lint.ts', 'export const wrong = (value: any): unknown => value;\n');
    project.write('core/one/test/fails.test.ts', test('fails', `throw new Error('on purpose');`));
    const red = npmTest();
    expect((await red.ended).code).to.equal(1);
    expect(headings(red.text())).to.deep.equal(['== Types and build: FAILED', '== Lint: FAILED', '== Tests: FAILED']);
    expect(red.text()).to.match(/wrong-type\.ts\(1,14\): error TS2322/);
    expect(red.errors()).to.match(/noExplicitAny/);
    expect(totals(red.text())).to.deep.equal(['1 passed, 1 failed']);
  });

  it('is red when a test file does not load, when a test is skipped, and when there are none', async () => {
    project.write('core/one/test/breaks.test.ts', `throw new Error('on purpose');\nexport {};\n`);
    const broken = npmTest();
    expect((await broken.ended).code).to.equal(1);
    expect(totals(broken.text())).to.deep.equal(['0 passed, 1 failed']);
    project.write('core/one/test/breaks.test.ts', `it.skip('rests', () => {});\n`);
    expect((await npmTest().ended).code).to.equal(1);
    project.write('core/one/test/breaks.test.ts', 'export {};\n');
    project.write('core/one/test/passes.test.ts', 'export {};\n');
    expect((await npmTest().ended).code).to.equal(1);
  });

  it('passes its arguments to mocha', async () => {
    project.write('core/one/test/fails.test.ts', test('fails', `throw new Error('on purpose');`));
    const chosen = npmTest('--grep', 'passes');
    expect((await chosen.ended).code).to.equal(0);
    expect(totals(chosen.text())).to.deep.equal(['1 passed, 0 failed']);
  });

  it('runs only the tests of the memory gateway, without those of its backend when only HTTP is selected', async () => {
    const files = {
      'plugins/memory-gateway/test/audit.test.ts': 'audit',
      'plugins/memory-gateway/test/remote/outage.test.ts': 'outage',
      'plugins/memory-outbox/test/worker.test.ts': 'worker',
      'test/memory/query.test.ts': 'query',
      'test/memory/remote/hang.test.ts': 'hang',
    };
    for (const [path, name] of Object.entries(files)) project.write(path, test(name, `process.stdout.write('');`));
    const gateway = async (env: Readonly<Record<string, string>>) => {
      const running = run(process.execPath, [join(project.root, 'scripts/check.mjs'), 'gateway'], {
        cwd: project.root,
        env,
      });
      expect((await running.ended).code, running.text() + running.errors()).to.equal(0);
      return [...running.text().matchAll(/✔ (\w+)/g)].map(([, name]) => name).sort();
    };
    const all = ['audit', 'hang', 'outage', 'query', 'worker'];
    expect(await gateway({})).to.deep.equal(all);
    expect(await gateway({ HTTP_ONLY_MODE: '1' })).to.deep.equal(['audit', 'query']);
    expect(await gateway({ HTTP_ONLY_MODE: '1', VERIFY_FULL: '1' })).to.deep.equal(all);
  });

  it('counts a killed test process as a failure, reports where it was, and runs the others', async () => {
    project.write('core/one/test/dies.test.ts', test('ends the process', `process.kill(process.pid, 'SIGKILL');`));
    project.write('core/two/test/passes.test.ts', test('passes too', `process.stdout.write('');`));
    const red = npmTest();
    expect((await red.ended).code).to.equal(1);
    expect(red.text()).to.contain(
      'a test process ended by SIGKILL, in dist/core/one/test/dies.test.js: ends the process',
    );
    expect(totals(red.text())).to.deep.equal(['1 passed, 1 failed']);
  });

  it('lists every failure at the end, and runs only the given folders', async () => {
    project.write('core/one/test/fails.test.ts', test('fails', `throw new Error('on purpose');`));
    project.write('core/two/test/fails.test.ts', test('fails too', `throw new Error('on purpose');`));
    const red = npmTest();
    expect((await red.ended).code).to.equal(1);
    const closing = red.text().split('\n2 failed:\n')[1];
    expect(closing).to.contain('dist/core/one/test/fails.test.js: fails\n');
    expect(closing).to.contain('dist/core/two/test/fails.test.js: fails too\n');
    const chosen = npmTest('core/one/');
    expect((await chosen.ended).code).to.equal(1);
    expect(totals(chosen.text())).to.deep.equal(['1 passed, 1 failed']);
  });

  it('does not run fixtures', async () => {
    project.write('core/one/test/fixtures/fails.test.ts', test('fails', `throw new Error('on purpose');`));
    const green = npmTest();
    expect((await green.ended).code).to.equal(0);
    expect(totals(green.text())).to.deep.equal(['1 passed, 0 failed']);
  });
});
