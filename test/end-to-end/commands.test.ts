import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawn } from '@lydell/node-pty';
import { expect } from 'chai';
import type { CommandFacts, PluginManifest } from 'mortise/sdk';
import { childEnvironment, type ServerProcess, startServer, temporaryFolder } from 'mortise/sdk/testing';
import stringWidth from 'string-width';
import { commandLine, runCommand } from './command-line.js';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** Concurrent processes: each needs most of a processor while it starts. */
const atOnce = 3;

/** Commands that run until they are interrupted. */
const endless = new Set(['kb watch']);

/** Exit codes of commands that are called without required arguments. */
const codes = [0, 1, 2];

describe('every command of every plugin', function () {
  this.timeout(180_000);
  let server: ServerProcess;
  let commands: readonly CommandFacts[];

  before(async () => {
    const plugins = JSON.parse(await readFile(join(project, 'plugins.json'), 'utf8')) as object;
    server = await startServer({ plugins });
    const keys = await readdir(join(project, 'plugins'));
    const manifests = await Promise.all(
      keys.map((key) => readFile(join(project, 'plugins', key, 'plugin.json'), 'utf8').catch(() => '{}')),
    );
    const declared = manifests.flatMap(
      (text) => (JSON.parse(text) as Partial<PluginManifest>).contributes?.command ?? [],
    );
    commands = declared.flatMap((one) =>
      typeof one === 'object' && typeof one.facts === 'object' ? [one.facts as unknown as CommandFacts] : [],
    );
    expect(commands.length).to.be.above(60);
    const post = (path: string, body: object) =>
      fetch(`${server.origin}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await post('/chats', { session_id: 's', user_id: 'u', channel: 'console', name: '港口今天的潮汐时间表' });
    await post('/chats', { session_id: 't', user_id: 'u', channel: 'console', name: 'Tides' });
    await post('/skills', { name: 'release-notes', content: '中文' });
  });
  after(() => server.dispose());

  const wordsOf = ({ usage }: CommandFacts): readonly string[] => {
    const parts = usage.split(/\s+/);
    const end = parts.findIndex((part) => !/^[a-z0-9][\w-]*$/i.test(part));
    return end < 0 ? parts : parts.slice(0, end);
  };

  /** Runs a check for each command, and reports all failures. */
  async function forEachCommand(
    some: readonly CommandFacts[],
    check: (words: readonly string[]) => Promise<void>,
  ): Promise<void> {
    const waiting = [...some];
    const failures: string[] = [];
    const work = async (): Promise<void> => {
      for (let facts = waiting.shift(); facts !== undefined; facts = waiting.shift()) {
        const words = wordsOf(facts);
        await check(words).catch((error: Error) => failures.push(`${words.join(' ')}: ${error.message}`));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    expect(failures).to.deep.equal([]);
  }

  /** One command per first word, to test behaviour that all commands share. */
  const oneEach = (): readonly CommandFacts[] => [
    ...new Map(commands.map((facts) => [wordsOf(facts)[0], facts])).values(),
  ];

  it('has help with an example', async () => {
    for (const { usage, examples = [] } of commands) expect(examples, usage).not.to.deep.equal([]);
    await forEachCommand(oneEach(), async (words) => {
      const { code, stdout } = await runCommand(server.origin, [...words, '--help']);
      expect(code).to.equal(0);
      expect(stdout).to.include(`Usage: mortise ${words.join(' ')}`);
      expect(stdout.split(/\nExamples?:\n/)[1] ?? '', 'examples').to.include(`mortise ${words[0]}`);
    });
  });

  it('refuses an unknown option with 2', async () => {
    await forEachCommand(oneEach(), async (words) => {
      const { code, stdout, stderr } = await runCommand(server.origin, [...words, '--no-such-option', '--json']);
      expect([code, stdout]).to.deep.equal([2, '']);
      expect(JSON.parse(stderr)).to.deep.nested.include({
        'error.code': 'cli_error',
        'error.details': { reason: 'wrong_usage' },
        status: 0,
      });
    });
  });

  it('takes the document of --body inline, from a file and from standard input', async () => {
    const bodies = commands.flatMap(({ usage, options = [] }) =>
      options.filter(({ flags }) => flags.startsWith('--body')).map(({ json }) => [usage, json]),
    );
    expect(bodies.filter(([, json]) => json !== true)).to.deep.equal([]);
    const text = JSON.stringify({ schedule: { type: 'interval', cron: '1h' }, count: 1 });
    const file = join(temporaryFolder('bodies'), 'body.json');
    await writeFile(file, text);
    for (const [given, input] of [
      [text, ''],
      [`@${file}`, ''],
      ['-', text],
    ] as const) {
      const { code, stderr } = await runCommand(server.origin, ['cron', 'preview', '--body', given], input);
      expect([code, stderr], given).to.deep.equal([0, '']);
    }
  });

  it('prints one JSON value with --json', async () => {
    await forEachCommand(commands, async (words) => {
      if (endless.has(words.join(' '))) return;
      const { code, stdout, stderr } = await runCommand(server.origin, ['--json', ...words]);
      expect(codes).to.include(code);
      const printed = stdout === '' ? stderr : stdout;
      expect(() => JSON.parse(printed), printed).not.to.throw();
      expect(printed.trimEnd()).not.to.include('\n');
      if (stdout !== '') return;
      const failure = JSON.parse(stderr) as { readonly error: object };
      expect(failure).to.have.all.keys('error', 'status');
      expect(failure.error).to.have.all.keys('code', 'message', 'details', 'hint');
      if (code === 2)
        expect(failure).to.deep.nested.include({ 'error.code': 'cli_error', 'error.details.reason': 'wrong_usage' });
    });
  });

  it('explains errors in words, and exits quietly when its output is closed', async () => {
    await forEachCommand(oneEach(), async (words) => {
      if (endless.has(words.join(' '))) return;
      const line = [process.execPath, ...commandLine(server.origin, words)].map((word) => `'${word}'`).join(' ');
      const { stdout, stderr } = await shell(`${line} | true; echo "\${PIPESTATUS[0]}"`);
      const code = Number(stdout);
      expect(codes).to.include(code);
      if (code === 2) expect(stderr).to.match(/^\[cli_error\] .+\n {2}Usage: mortise .+\n/);
      else if (code === 1) expect(stderr).to.match(/^(\[\w+\] .+\n {2}.+\n|$)/);
      expect(stderr).not.to.match(/EPIPE|^ +at /m);
    });
  });

  it('exits with 3 without a server, unless it needs none', async () => {
    const needing = oneEach().filter(({ offline, usage }) => !offline && !usage.startsWith('tui'));
    await forEachCommand(needing, async (words) => {
      const { code, stdout, stderr } = await runCommand('http://127.0.0.1:1', ['--json', ...words]);
      expect([2, 3]).to.include(code);
      const reason = code === 2 ? 'wrong_usage' : 'no_server';
      expect(JSON.parse(stderr)).to.deep.nested.include({ 'error.details.reason': reason, status: 0 });
      expect(stdout).to.equal('');
    });
  });

  const lists = [
    ['chats', 'list'],
    ['skills', 'list'],
    ['models', 'list'],
    ['plugin', 'list'],
    ['config'],
    ['--help'],
    ['completion', 'bash'],
  ];

  it('exits quietly when its reader closes the pipe', async () => {
    for (const words of lists) {
      const line = [process.execPath, ...commandLine(server.origin, words)].map((word) => `'${word}'`).join(' ');
      const { code, stdout, stderr } = await shell(`set -o pipefail; ${line} | head -1; echo "$?" >&2`);
      expect([words.join(' '), code, stdout.split('\n').length, stderr]).to.deep.equal([words.join(' '), 0, 2, '0\n']);
    }
  });

  it('aligns table cells at a width of 50 columns, also with Chinese text', async () => {
    const text = await onTerminal(['chats', 'list', '--user-id', 'u'], 50);
    const [head = '', rule = '', ...rows] = text.split('\n').filter((line) => line.trim() !== '');
    const starts = [...rule.matchAll(/-+/g)].map(({ index }) => index);
    expect(starts).to.have.length.above(2);
    expect(rows.some((row) => row.includes('港口'))).to.equal(true);
    for (const line of [head, ...rows]) {
      for (const start of starts.slice(1)) expect(columnsBefore(line, start), line).to.match(/ {2}$/);
    }
  });

  it('wraps help at 50 columns', async () => {
    const text = await onTerminal(['chats', 'create', '--help'], 50);
    const [usage = ''] = text.split('Example');
    expect(usage).to.include('create a chat');
    for (const line of usage.split('\n')) expect(stringWidth(line), line).to.be.at.most(50);
  });

  /** The beginning of a line that fills the given number of columns. */
  function columnsBefore(line: string, columns: number): string {
    let part = '';
    for (const character of line) {
      if (stringWidth(part) >= columns) break;
      part += character;
    }
    return part.padEnd(columns);
  }

  function onTerminal(args: readonly string[], cols: number): Promise<string> {
    return new Promise((done) => {
      const child = spawn(process.execPath, [...commandLine(server.origin, args)], {
        cols,
        rows: 400,
        env: childEnvironment(),
      });
      let text = '';
      child.onData((data) => (text += data));
      child.onExit(() => done(text.replaceAll('\r\n', '\n')));
    });
  }

  function shell(script: string): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((done) => {
      const child = execFile('bash', ['-c', script], { env: childEnvironment() }, (error, stdout, stderr) =>
        done({ code: error ? Number(child.exitCode) : 0, stdout, stderr }),
      );
    });
  }
});
