import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { nodeFlags } from 'mortise/sdk/testing';
import { type Ended, mainFile, runCli } from './run-cli.js';

const commands = [
  [],
  ['plugin'],
  ...['list', 'inspect', 'enable', 'disable', 'restart', 'release', 'plan', 'doctor', 'tree', 'export'].map((name) => [
    'plugin',
    name,
  ]),
  ['config'],
  ['status'],
  ['migrate'],
  ['start'],
  ['app'],
  ['app', 'start'],
];

const nowhere = { MORTISE_API_BASE: 'http://127.0.0.1:1' };

describe('the usage of the command line', () => {
  for (const words of commands) {
    it(`has help with an example for: mortise ${words.join(' ')}`, async () => {
      const { code, stdout } = await runCli([...words, '--help'], nowhere);
      expect(code).to.equal(0);
      expect(stdout).to.contain(`Usage: mortise ${words.join(' ')}`.trim());
      expect(stdout.split(/\nExamples?:\n/)[1] ?? '', 'examples').to.contain(`mortise ${words.join(' ')}`.trim());
    });
  }

  it('prints its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../../../../package.json', import.meta.url), 'utf8'));
    const { code, stdout } = await runCli(['--version'], nowhere);
    expect([code, stdout]).to.deep.equal([0, `${version}\n`]);
  });

  const wrong: readonly (readonly string[])[] = [
    ['plugin'],
    ['plugin', 'enable'],
    ['plugin', 'frobnicate'],
    ['plugin', 'enable', 'a', 'b'],
    ['plugin', 'enable', ''],
    ['plugin', 'inspect', ''],
    ['plugin', 'list', '--no-such-option'],
    ['plugin', 'plan'],
    ['plugin', 'plan', 'logbook'],
    ['--api-base', 'nonsense', 'status'],
    ['start'],
  ];
  for (const args of wrong) {
    it(`exits with 2 and names the mistake: mortise ${args.join(' ')}`, async () => {
      const { code, stdout, stderr }: Ended = await runCli(args, args[0] === '--api-base' ? {} : nowhere);
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(stderr).to.have.length.above(20);
    });
  }

  it('does not print the help of the group for an unknown command', async () => {
    for (const args of [
      ['bogus', '--help'],
      ['bogus', '-h'],
      ['plugin', 'bogus', '--help'],
    ]) {
      const { code, stdout, stderr } = await runCli(args, nowhere);
      expect([code, stdout, stderr.startsWith("[cli_error] Unknown command 'bogus'")], args.join(' ')).to.deep.equal([
        2,
        '',
        true,
      ]);
    }
    for (const args of [['plugin', 'list', '--help'], ['plugin', '-h'], ['config', 'logbook', '--help'], ['--help']]) {
      const { code, stdout } = await runCli(args, nowhere);
      expect([code, stdout.startsWith('Usage:')], args.join(' ')).to.deep.equal([0, true]);
    }
  });

  it('reports an output that cannot be written', async function full() {
    if (!existsSync('/dev/full')) this.skip();
    for (const [args, report] of [
      [['config'], '[cli_error] The output cannot be written (ENOSPC).\n'],
      [['--json', 'config'], '{"error":{"code":"cli_error","message":"The output cannot be written (ENOSPC)."'],
    ] as const) {
      const line = ['-c', '"$0" "$@" > /dev/full', process.execPath, ...nodeFlags, mainFile, ...args];
      const { code, stderr } = await promisify(execFile)('sh', line).catch((error) => error);
      expect([code, stderr.includes(report), stderr.includes('    at ')]).to.deep.equal([1, true, false]);
    }
  });

  it('exits quietly when the reader closes the pipe early', async () => {
    const { stdout, stderr } = await promisify(execFile)('sh', [
      '-c',
      '"$0" "$@" config | head -n 1',
      process.execPath,
      ...nodeFlags,
      mainFile,
    ]);
    expect(stdout.split('\n')).to.have.length(2);
    expect(stderr).to.not.contain('EPIPE');
  });
});
