import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { temporaryFolder } from 'mortise/sdk/testing';
import { type OfflineFolder, offlineFolder } from './run-cli.js';

const run = promisify(execFile);

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What is typed, and words that are offered then. Every shell is asked the same. */
const offered: readonly (readonly [typed: readonly string[], words: readonly string[]])[] = [
  [
    ['greet', ''],
    ['say', 'post'],
  ],
  [['greet', 's'], ['say']],
  [['--json', 'greet', 'p'], ['post']],
  [['greet', 'say', '--lo'], ['--loud']],
  [
    ['greet', 'post', ''],
    ['list', 'show'],
  ],
  [['completion', 'z'], ['zsh']],
  [['plugin', 'ins'], ['inspect']],
  [['greet', 'say', 'zzz'], []],
];

describe('completion in a shell', function () {
  this.timeout(60_000);
  let folder: OfflineFolder;
  const scripts = temporaryFolder('completion');
  const scriptFor = async (shell: string): Promise<string> => {
    const { code, stdout } = await folder.run('completion', shell);
    expect(code).to.equal(0);
    mkdirSync(scripts, { recursive: true });
    const path = join(scripts, shell === 'zsh' ? '_mortise' : `mortise.${shell}`);
    writeFileSync(path, stdout);
    return path;
  };

  before(async () => {
    folder = await offlineFolder({ greet: { enabled: true } });
    const say = {
      usage: 'greet say <name>',
      summary: "Says it's you.",
      options: [{ flags: '--loud', summary: 'louder' }],
    };
    await folder.addPlugin(
      'greet',
      {
        contributes: {
          command: [
            { key: 'greet-say', facts: say },
            { key: 'greet-post', facts: { usage: 'greet post <list|show> [id]', summary: 'Posts: letters.' } },
          ],
        },
      },
      'export default () => ({ key: "greet", register() {} });',
    );
  });
  after(() => folder.dispose());

  it('offers commands, options and words in bash', async () => {
    const script = await scriptFor('bash');
    const lines = offered.map(([typed]) => `t mortise ${typed.map((word) => `'${word}'`).join(' ')}`);
    const { stdout, stderr } = await run('bash', [
      '-c',
      `source ${script}; t() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mortise; echo "\${COMPREPLY[*]}"; }\n${lines.join('\n')}\ncomplete -p mortise nextai`,
    ]);
    expect(stderr).to.equal('');
    const answers = stdout.trimEnd().split('\n');
    expect(answers.slice(0, offered.length)).to.deep.equal(offered.map(([, words]) => words.join(' ')));
    expect(answers.slice(offered.length)).to.deep.equal([
      'complete -o default -F _mortise mortise',
      'complete -o default -F _mortise nextai',
    ]);
  });

  if (isInstalled('zsh')) {
    it('is a script that zsh loads', async () => {
      const script = await scriptFor('zsh');
      await run('zsh', ['-fc', `autoload -Uz compinit; compinit -D; source ${script}; whence -w _mortise`]);
    });
  }

  if (isInstalled('fish')) {
    it('offers the same in fish', async () => {
      const script = await scriptFor('fish');
      for (const [typed, words] of offered.filter(([, some]) => some.length > 0)) {
        const { stdout } = await run('fish', ['-c', `source ${script}; complete -C 'mortise ${typed.join(' ')}'`]);
        expect(stdout.split('\n').map((line) => line.split('\t')[0])).to.include.members([...words]);
      }
    });
  }

  it('takes the names of shells only', async () => {
    const { code, stderr } = await folder.run('completion', 'tcsh');
    expect([code, stderr.includes('bash, zsh, fish')]).to.deep.equal([2, true]);
  });
});
