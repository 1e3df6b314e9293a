import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from './process.js';
import { createProject, type Project } from './project.js';

describe('npm run test:clients', () => {
  let project: Project;
  before(() => {
    project = createProject();
  });
  after(() => project.remove());

  const clients = async (...args: readonly string[]) => {
    const script = join(project.root, 'scripts', 'clients.mjs');
    const running = run(process.execPath, [script, ...args], { cwd: project.root });
    const { code } = await running.ended;
    return { code, text: running.text(), errors: running.errors() };
  };

  it('lists its clients, and refuses unknown names before it installs anything', async () => {
    const help = await clients('--help');
    expect(help.code).to.equal(0);
    expect(help.text)
      .to.match(/^ {2}mcp +ai-sdk, claude-code, /m)
      .and.match(/^ {2}models +ai-sdk, /m);
    expect(help.errors).to.equal('');
    for (const [args, sentence] of [
      [['mcp', 'nothing'], 'There is no client "nothing" in mcp: ai-sdk, '],
      [['nothing'], 'There is no suite "nothing": choose one of mcp, models.'],
      [['mcp', '--all'], 'There is no option "--all".'],
    ] as const) {
      const { code, text, errors } = await clients(...args);
      expect([code, text]).to.deep.equal([2, '']);
      expect(errors).to.satisfy((line: string) => line.startsWith(sentence) && line.split('\n').length === 2);
    }
    expect(existsSync(join(project.root, '.runtime', 'clients'))).to.equal(false);
  });
});
