import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { childEnvironment, nodeFlags } from 'mortise/sdk/testing';
import { mainFile, type OfflineFolder, offlineFolder } from './run-cli.js';

/** Reads a pipe without a writer, which never returns. */
const readForever = `await import('node:fs/promises').then(({ readFile }) => readFile(process.env.SILENT_PIPE));`;

describe('a command that is interrupted', () => {
  let folder: OfflineFolder;
  before(async function windows() {
    if (process.platform === 'win32') this.skip();
    folder = await offlineFolder({ idle: { enabled: true } });
    const commands = ['wait', 'hang'].map((word) => ({
      key: word,
      facts: { usage: `idle ${word}`, summary: 'Does nothing and never ends.', offline: true },
    }));
    const code = `
      export default () => ({
        key: 'idle',
        register(host) {
          const add = (word, work) => host.contribute('command', word, {
            ...host.facts('command', word),
            async run(input, { signal }) {
              process.stdout.write('runs\\n');
              await work(signal);
              return { exitCode: 0, data: {}, text: 'done' };
            },
          });
          add('wait', (signal) => new Promise((done, failed) => {
            const waiting = setInterval(() => {}, 1_000);
            signal.addEventListener('abort', () => { clearInterval(waiting); failed(signal.reason); });
          }));
          add('hang', async () => { ${readForever} });
        },
      });`;
    await folder.addPlugin('idle', { contributes: { command: commands } }, code);
    execFileSync('mkfifo', [join(folder.folder, 'pipe')]);
  });
  after(() => folder?.dispose());

  async function running(word: string): Promise<{ readonly child: ChildProcess; readonly ended: Promise<unknown[]> }> {
    const child = spawn(process.execPath, [...nodeFlags, mainFile, 'idle', word], {
      env: { ...childEnvironment(), ...folder.env, SILENT_PIPE: join(folder.folder, 'pipe') },
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    });
    const ended = once(child, 'exit');
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    return { child, ended };
  }

  it('ends when its launcher was killed', async () => {
    const { child, ended } = await running('wait');
    child.disconnect();
    expect(await ended).to.deep.equal([130, null]);
  });

  it('ends at the second signal, although one of its threads hangs in a system call', async () => {
    const { child, ended } = await running('hang');
    child.kill('SIGTERM');
    child.kill('SIGINT');
    expect(await ended).to.deep.equal([null, 'SIGKILL']);
  });

  it('ends some time after the first signal', async () => {
    const { child, ended } = await running('hang');
    child.kill('SIGTERM');
    expect(await ended).to.deep.equal([null, 'SIGKILL']);
  });
});
