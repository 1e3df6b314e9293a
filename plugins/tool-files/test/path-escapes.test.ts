import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { extendContext } from 'mortise/sdk';
import { createTestHost, localPrincipal, rounds, type TestHost } from 'mortise/sdk/testing';

const canary = 'canary-8f2b61';

describe('paths that lead out of the workspace', () => {
  let host: TestHost;
  let root: string;
  let outside: string;

  before(async () => {
    host = await createTestHost({ plugins: ['tool-files'] });
    root = host.dataDir;
    outside = await mkdtemp(join(tmpdir(), 'mortise-outside-'));
    await mkdir(join(outside, 'sub'));
    for (const name of ['secret.txt', join('sub', 'secret.txt')]) await writeFile(join(outside, name), canary);
    await writeFile(join(root, 'data', 'secret.txt'), canary);
    await writeFile(join(root, 'config', 'secret.txt'), canary);
    await writeFile(join(root, '.env'), canary);
    await mkdir(join(root, 'a', 'b'), { recursive: true });
    await symlink(outside, join(root, 'link'));
    await symlink(join('..', '..', 'link'), join(root, 'a', 'b', 'link'));
    await symlink(join(outside, 'secret.txt'), join(root, 'a', 'file'));
    await symlink(join(root, 'data'), join(root, 'a', 'data'));
    await symlink('loop', join(root, 'loop'));
  });
  after(async () => {
    await host.stop();
    await rm(outside, { recursive: true, force: true });
  });

  /** Folders to begin in, ways to a secret from there, and spellings of the whole. */
  const escapes = () => {
    const starts = ['', root, join(root, 'a'), join(root, 'a', 'b'), '/', '.', './a', 'a/b', `${root}/nothing`];
    const away = relative(join(root, 'a', 'b'), outside);
    const ways = [
      ...[0, 1, 2, 3, 9, 40].map((levels) => `${'../'.repeat(levels)}${outside.slice(1)}/secret.txt`),
      `${away}/secret.txt`,
      `../${away}/sub/secret.txt`,
      `${outside}/secret.txt`,
      `${outside}/sub/../secret.txt`,
      'link/secret.txt',
      'link/sub/secret.txt',
      'a/b/link/secret.txt',
      'a/b/link/../sub/secret.txt',
      'a/file',
      'a/data/secret.txt',
      'data/secret.txt',
      'data/mortise.db',
      'data/mortise.db-wal',
      'config/secret.txt',
      '.env',
      'loop/x',
      'a/../data/secret.txt',
      '..//../..///etc/passwd',
      '/proc/self/environ',
      '/proc/self/root/etc/passwd',
      '/dev/fd/0',
      `/proc/self/cwd/${away}/secret.txt`,
    ];
    const spellings: ((path: string) => string)[] = [
      (path) => path,
      (path) => path.replaceAll('/', '//'),
      (path) => path.replaceAll('/', '/./'),
      (path) => `${path}/`,
      (path) => `${path}\0.txt`,
      (path) => ` ${path} `,
      (path) => encodeURIComponent(path),
      (path) => path.replaceAll('/', '\\'),
      (path) => path.replaceAll('.', '\u2024'),
    ];
    return fc
      .tuple(fc.constantFrom(...starts), fc.constantFrom(...ways), fc.constantFrom(...spellings))
      .map(([start, way, spell]) => spell(start === '' || way.startsWith('/') ? way : `${start}/${way}`));
  };

  const run = (name: string, args: object) =>
    host.points.call(
      'tool',
      name,
      (tool, ctx) => tool.run({ ...args }, extendContext(ctx, { caller: 'direct' as const })),
      {
        principal: localPrincipal,
      },
    );

  const calls = (path: string): readonly (readonly [name: string, args: object])[] => [
    ['view', { items: [{ path, start: 1, end: 5 }] }],
    ['find', { items: [{ path, pattern: 'c' }] }],
    ['edit', { items: [{ path, start: 1, end: 1, content: 'overwritten' }] }],
    ['claude_read', { file_path: path }],
    ['claude_write', { file_path: path, content: 'overwritten' }],
    ['claude_edit', { file_path: path, old_string: canary, new_string: 'overwritten' }],
    ['claude_multi_edit', { file_path: path, edits: [{ old_string: canary, new_string: 'overwritten' }] }],
    ['claude_notebook_read', { notebook_path: path }],
    ['claude_ls', { path }],
  ];

  it('are read and written by no file tool (M10)', async () => {
    await fc.assert(
      fc.asyncProperty(escapes(), async (path) => {
        for (const [name, args] of calls(path)) {
          const shown = await run(name, args).then(JSON.stringify, String);
          expect(shown, `${name} ${path}`).to.not.match(/canary|root:x:|SQLite format/);
        }
      }),
      { numRuns: rounds(1_000, 5_000) },
    );
    for (const file of [
      join(outside, 'secret.txt'),
      join(outside, 'sub', 'secret.txt'),
      join(root, 'data', 'secret.txt'),
      join(root, 'config', 'secret.txt'),
      join(root, '.env'),
    ]) {
      expect(await readFile(file, 'utf8'), file).to.equal(canary);
    }
    expect((await readdir(outside)).sort()).to.deep.equal(['secret.txt', 'sub']);
  }).timeout(600_000);

  it('are not taken by a folder that became a link after it was checked', async () => {
    const files = host.service('workspace-files');
    await mkdir(join(root, 'swapped'));
    await writeFile(join(root, 'swapped', 'secret.txt'), 'inside');
    const [old, added] = [
      await files.locate('swapped/secret.txt', 'write'),
      await files.locate('swapped/new.txt', 'write'),
    ];
    await rm(join(root, 'swapped'), { recursive: true });
    await symlink(outside, join(root, 'swapped'));
    for (const change of [
      { real: old, content: 'overwritten' },
      { real: old, content: null },
      { real: added, content: 'x' },
    ]) {
      const outcome = await files.commit([change]).then(
        () => 'written',
        (error: { code: string }) => error.code,
      );
      expect(outcome).to.equal('invalid_tool_input');
    }
    expect(await readFile(join(outside, 'secret.txt'), 'utf8')).to.equal(canary);
    expect((await readdir(outside)).sort()).to.deep.equal(['secret.txt', 'sub']);
  });
});
