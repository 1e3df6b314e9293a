import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readCommit } from '../run.js';

const commit = 'a'.repeat(40);

describe('the commit of a checkout', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mortise-commit-'));
    await mkdir(join(folder, '.git', 'refs', 'heads'), { recursive: true });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = (file: string, text: string): Promise<void> => writeFile(join(folder, '.git', file), text);

  it('is that of its branch, packed or not, or of the detached HEAD', async () => {
    await write('HEAD', `${commit}\n`);
    expect(readCommit(folder)).to.equal(commit);
    await write('HEAD', 'ref: refs/heads/main\n');
    expect(readCommit(folder)).to.equal(undefined);
    await write('packed-refs', `# pack-refs with: peeled\n${'b'.repeat(40)} refs/heads/main\n`);
    expect(readCommit(folder)).to.equal('b'.repeat(40));
    await write('refs/heads/main', `${commit}\n`);
    expect(readCommit(folder)).to.equal(commit);
  });

  it('is unknown outside a checkout', () => {
    expect(readCommit(join(folder, 'nowhere'))).to.equal(undefined);
  });
});
