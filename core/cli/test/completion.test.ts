import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
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

/** No package installs the shell, so its test runs where the machine has it. */
function reportSkipped(shell: string): void {
  after(() => void process.stderr.write(`not run: completion in ${shell}, which is not installed on this machine\n`));
}

/** Typed words, and words that every shell must then offer. */
const offered: readonly (readonly [typed: readonly string[], words: readonly string[]])[] = [
  [
    ['greet', ''],
    ['say', 'post'],
  ],
  [['greet', 's'], ['say']],
  [['--json', 'greet', 'p'], ['post']],
  [['greet', 'say', '--lou'], ['--loud']],
  [
    ['greet', 'post', ''],
    ['list', 'show'],
  ],
  [['completion', 'z'], ['zsh']],
  [['plugin', 'ins'], ['inspect']],
  [['greet', 'say', 'zzz'], []],
];

describe('completion in a shell', () => {
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

  it('offers the same in the zsh script, with fakes of the functions of the completion system', async () => {
    const script = await scriptFor('zsh');
    // Except for these functions the script uses only syntax of both shells; arrays begin at 1 in zsh.
    const calls = offered.map(([typed]) => `t mortise ${typed.map((word) => `'${word}'`).join(' ')}`);
    const { stdout, stderr } = await run('bash', [
      '-c',
      `compdef() { echo "compdef $*"; }
      compadd() { shift; printf '%s\n' "$@"; }
      _describe() { local -n described=$2; for one in "\${described[@]}"; do echo "\${one%%:*}"; done; }
      _files() { :; }
      source ${script}
      t() { words=('' "$@"); CURRENT=$#; _mortise | while read -r one; do
        [[ "$one" == "\${words[CURRENT]}"* ]] && printf '%s ' "$one"; done; echo; }
      ${calls.join('\n')}`,
    ]);
    expect(stderr).to.equal('');
    const [registered, ...answers] = stdout.trimEnd().split('\n');
    expect(registered).to.equal('compdef _mortise mortise nextai');
    const wanted = offered.map(([, words]) => words.join(' '));
    expect(answers.map((line) => line.trim())).to.deep.equal(wanted.slice(0, answers.length));
    expect(wanted.slice(answers.length).join('')).to.equal('');
  });

  if (isInstalled('zsh')) {
    it('is loaded by zsh', async () => {
      const script = await scriptFor('zsh');
      await run('zsh', ['-n', script]);
      await run('zsh', ['-fc', `autoload -Uz compinit; compinit -D; source ${script}; whence -w _mortise`]);
    });
  } else reportSkipped('zsh');

  it('offers the same in the fish script, with well-formed lines', async () => {
    const lines = (await readFile(await scriptFor('fish'), 'utf8')).split('\n');
    const own =
      /^complete -c mortise -n '__mortise_is "([\w.: -]*)"' (?:-f -a ([\w.:-]+) -d '(?:[^'\\]|\\['\\])*'|-l ([\w.-]+))$/;
    const from =
      lines.indexOf(
        'end',
        lines.findIndex((line) => line.startsWith('  test ')),
      ) + 1;
    const complete = lines.slice(from, lines.indexOf('complete -c nextai -w mortise'));
    const entries = complete.map((line) => {
      const [, path = '', word, option] = own.exec(line) ?? expect.fail(`not well-formed: ${line}`);
      return { path, word: word ?? `--${option}` };
    });
    const known = new Set(
      /contains -- "\$longer" (.*)$/m
        .exec(lines.join('\n'))?.[1]
        ?.match(/'[^']*'/g)
        ?.map((one) => one.slice(1, -1)),
    );
    for (const [typed, words] of offered) {
      const current = typed.at(-1) ?? '';
      let at = '';
      for (const word of typed.slice(0, -1)) {
        const longer = `${at} ${word}`.trim();
        if (known.has(longer)) at = longer;
      }
      const found = entries.filter(({ path, word }) => path === at && word.startsWith(current));
      const shown = found.map(({ word }) => word).filter((word) => current.startsWith('-') || !word.startsWith('-'));
      expect(shown, typed.join(' ')).to.deep.equal([...words]);
    }
  });

  if (isInstalled('fish')) {
    it('offers the same in fish', async () => {
      const script = await scriptFor('fish');
      await run('fish', ['-n', script]);
      for (const [typed, words] of offered.filter(([, some]) => some.length > 0)) {
        const { stdout } = await run('fish', ['-c', `source ${script}; complete -C 'mortise ${typed.join(' ')}'`]);
        expect(stdout.split('\n').map((line) => line.split('\t')[0])).to.include.members([...words]);
      }
    });
  } else reportSkipped('fish');

  it('accepts only the names of shells', async () => {
    const { code, stderr } = await folder.run('completion', 'tcsh');
    expect([code, stderr.includes('bash, zsh, fish')]).to.deep.equal([2, true]);
  });
});
