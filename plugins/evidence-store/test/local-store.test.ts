import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import { createTestHost, type TestHost, temporaryFolder } from 'mortise/sdk/testing';

describe('the local artifact store', () => {
  let folder: string;
  let root: string;
  let host: TestHost;
  let artifacts: ArtifactStore;

  const open = async (env: Readonly<Record<string, string>> = {}) => {
    host = await createTestHost({
      plugins: ['evidence-store'],
      listen: false,
      env: { MORTISE_ARTIFACTS_ROOT: root, ...env },
    });
    artifacts = host.service('artifacts');
  };
  beforeEach(async () => {
    folder = temporaryFolder('artifacts');
    root = join(folder, 'root');
  });
  afterEach(() => host.stop());

  const bytes = (text: string) => Buffer.from(text);
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'none',
      (error: { code: string }) => error.code,
    );

  it('creates its folder with the first write, readable only by the owner', async () => {
    await open();
    expect(await artifacts.stat('a/b')).to.equal(null);
    expect(await readdir(folder)).to.deep.equal([]);
    const put = await artifacts.put('a/b.txt', bytes('hello'));
    expect(put).to.deep.include({ key: 'a/b.txt', uri: 'artifact://local/a/b.txt', sizeBytes: 5, created: true });
    expect((await stat(root)).mode & 0o777).to.equal(0o700);
    expect((await stat(join(root, 'a'))).mode & 0o777).to.equal(0o700);
    expect(Buffer.from((await artifacts.get('a/b.txt')).data).toString()).to.equal('hello');
    expect(await artifacts.stat('a/b.txt')).to.deep.include({ sha256: put.sha256, sizeBytes: 5 });
  });

  it('is in the data directory by default', async () => {
    await open({ MORTISE_ARTIFACTS_ROOT: '' });
    await artifacts.put('a', bytes('hello'));
    expect(await readFile(join(host.dataDir, 'data', 'artifacts', 'a'), 'utf8')).to.equal('hello');
  });

  it('writes the same bytes once and never overwrites others', async () => {
    await open();
    await artifacts.put('a', bytes('hello'));
    const { mtimeMs } = await stat(join(root, 'a'));
    expect((await artifacts.put('a', bytes('hello'))).created).to.equal(false);
    expect((await stat(join(root, 'a'))).mtimeMs).to.equal(mtimeMs);
    for (const other of ['jello', 'longer text']) {
      expect(await codeOf(artifacts.put('a', bytes(other)))).to.equal('ARTIFACT_OVERWRITE_DENIED');
    }
  });

  it('repairs damaged bytes under a key that contains their hash', async () => {
    await open();
    await artifacts.put('a', bytes('hello'));
    await truncate(join(root, 'a'), 3);
    expect((await artifacts.put('a', bytes('hello'), { replace: true })).created).to.equal(true);
    expect(await readFile(join(root, 'a'), 'utf8')).to.equal('hello');
  });

  it('leaves no half-written file behind', async () => {
    await open();
    await Promise.all(Array.from({ length: 20 }, () => artifacts.put('deep/er/a', bytes('x'.repeat(100_000)))));
    expect(await readdir(join(root, 'deep', 'er'))).to.deep.equal(['a']);
  });

  it('refuses a key that leaves the root', async () => {
    await open();
    const keys = [
      '',
      '/',
      '/etc/passwd',
      '..',
      '../a',
      'a/../b',
      'a/./b',
      'a//b',
      'a/',
      'a\\..\\b',
      'a\0b',
      'a\nb',
      '\ud800',
    ];
    for (const key of [...keys, 'x'.repeat(201), `${'y/'.repeat(500)}z`]) {
      expect(await codeOf(artifacts.put(key, bytes('x'))), key).to.equal('PATH_TRAVERSAL_ERROR');
      expect(await codeOf(artifacts.get(key)), key).to.equal('PATH_TRAVERSAL_ERROR');
      expect(await codeOf(artifacts.stat(key)), key).to.equal('PATH_TRAVERSAL_ERROR');
    }
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('follows no link, whether it leaves the root or not', async () => {
    await open();
    await artifacts.put('real/a', bytes('hello'));
    const outside = join(folder, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'secret'), 'secret');
    await symlink(outside, join(root, 'out'));
    await symlink(join(root, 'real'), join(root, 'in'));
    await symlink(join(outside, 'secret'), join(root, 'file'));
    await symlink(join(outside, 'nothing'), join(root, 'dangling'));
    for (const key of ['out/secret', 'out/new', 'in/a', 'in/new', 'file', 'dangling', 'dangling/new']) {
      expect(await codeOf(artifacts.get(key)), key).to.equal('PATH_TRAVERSAL_ERROR');
      expect(await codeOf(artifacts.stat(key)), key).to.equal('PATH_TRAVERSAL_ERROR');
      expect(await codeOf(artifacts.put(key, bytes('x'))), key).to.equal('PATH_TRAVERSAL_ERROR');
    }
    expect(await readdir(outside)).to.deep.equal(['secret']);
    expect(await readFile(join(outside, 'secret'), 'utf8')).to.equal('secret');
  });

  it('may itself be a link', async () => {
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), root);
    await open();
    await artifacts.put('a', bytes('hello'));
    expect(await readFile(join(folder, 'elsewhere', 'a'), 'utf8')).to.equal('hello');
  });

  it('reports files that are absent, in the way, or too large', async () => {
    await open({ MORTISE_ARTIFACTS_MAX_SIZE_BYTES: '10' });
    await artifacts.put('a/b', bytes('0123456789'));
    expect(await codeOf(artifacts.get('a/c'))).to.equal('ARTIFACT_NOT_FOUND');
    expect(await codeOf(artifacts.get('x/y/z'))).to.equal('ARTIFACT_NOT_FOUND');
    expect(await codeOf(artifacts.get('a'))).to.equal('PATH_TRAVERSAL_ERROR');
    expect(await codeOf(artifacts.put('a/b/c', bytes('x')))).to.equal('PATH_TRAVERSAL_ERROR');
    expect(await codeOf(artifacts.put('big', bytes('0123456789a')))).to.equal('ARTIFACT_SIZE_LIMIT_EXCEEDED');
    expect(await codeOf(artifacts.get('a/b', { maxBytes: 9 }))).to.equal('PAYLOAD_TOO_LARGE');
    for (const uri of ['artifact://other/a', 's3://bucket/a', 'a', 'artifact://local/%zz']) {
      expect(() => artifacts.keyOf(uri), uri)
        .to.throw()
        .with.property('code', 'INVALID_URI');
    }
    expect(() => artifacts.keyOf('artifact://local/%2e%2e/a'))
      .to.throw()
      .with.property('code', 'PATH_TRAVERSAL_ERROR');
  });

  it('refuses writes when it is read-only', async () => {
    await mkdir(root);
    await writeFile(join(root, 'a'), 'hello');
    await open({ MORTISE_ARTIFACTS_READ_ONLY: 'true' });
    expect((await artifacts.get('a')).sizeBytes).to.equal(5);
    expect(await codeOf(artifacts.put('b', bytes('x')))).to.equal('ARTIFACT_WRITE_DISABLED');
  });

  it('reports a retryable error without the path when the disk fails', async () => {
    // A file in the place of the folder: root may do everything else.
    await writeFile(root, '');
    await open();
    const error = await artifacts.put('a/b', bytes('x')).catch((thrown) => thrown);
    expect(error).to.deep.include({ code: 'ARTIFACT_WRITE_ERROR', retryable: true });
    expect(JSON.stringify([error.message, error.details])).to.not.contain(folder);
  });
});
