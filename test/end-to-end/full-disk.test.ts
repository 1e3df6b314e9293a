import { spawn } from 'node:child_process';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { childEnvironment, nodeFlags, temporaryFolder } from 'mortise/sdk/testing';

const commandLine = fileURLToPath(new URL('../../core/cli/main.js', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe('the command line on a full disk, without a server', () => {
  let folder: string;
  const data = (): string => join(folder, 'data');
  before(async () => {
    folder = temporaryFolder('kb-full-disk');
    await mkdir(join(folder, 'notes'));
    await writeFile(join(folder, 'notes', 'a.md'), '# A\n\nAn otter swims.\n');
    expect(await run('unlimited', 'refresh')).to.include({ code: 0 });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command whose process cannot write files larger than `limit` KiB. */
  const run = (limit: string, ...args: readonly string[]): Promise<Ended> =>
    new Promise((resolve, reject) => {
      const all = ['--api-base', 'http://127.0.0.1:1', 'kb', ...args, '--root', join(folder, 'notes'), '--json'];
      const command = ['-c', `ulimit -f ${limit}; exec "$0" "$@"`, process.execPath, ...nodeFlags, commandLine, ...all];
      const child = spawn('bash', command, { env: { ...childEnvironment(), MORTISE_DATA_DIR: data() } });
      const printed = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const)
        child[name].on('data', (bytes: Buffer) => (printed[name] += bytes.toString('utf8')));
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, ...printed }));
    });

  it('searches and explains, but does not refresh', async () => {
    const { code, stdout, stderr } = await run('0', 'search', 'otter');
    expect([code, stderr]).to.deep.equal([0, '']);
    const [hit] = JSON.parse(stdout).results;
    expect(hit.path).to.equal('a.md');
    const explained = await run('0', 'explain', hit.evidence_ref, '--query', 'otter');
    expect(JSON.parse(explained.stdout)).to.deep.include({ state: 'current' });
    const refused = await run('0', 'refresh');
    expect(refused.code).to.equal(1);
    expect(JSON.parse(refused.stderr).error.code).to.match(/^database_/);
  });

  it('searches although the database is damaged', async () => {
    for (const suffix of ['', '-wal', '-shm']) await rm(join(data(), `mortise.db${suffix}`), { force: true });
    await writeFile(join(data(), 'mortise.db'), 'this is no database, and long enough to be read as one');
    const { code, stdout } = await run('unlimited', 'search', 'otter');
    expect([code, JSON.parse(stdout).results.length]).to.deep.equal([0, 1]);
    await access(join(data(), 'mortise.db'));
  });
});
