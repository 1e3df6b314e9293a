import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { runCommand } from './command-line.js';

describe('commands of workspace files', () => {
  const [key, adminKey] = ['heron-key-0123456789', 'egret-admin-key-0123456789'];
  const hosts: TestHost[] = [];
  let [first, second]: readonly (TestHost | undefined)[] = [];
  let folder: string;

  const open = async (): Promise<TestHost> => {
    const host = await createTestHost({
      plugins: ['admin', 'workspace', 'envs', 'channels', 'channel-console', 'channel-webhook', 'models', 'skills'],
      env: {
        MORTISE_API_KEY: key,
        GOVERNANCE_ADMIN_KEY: adminKey,
        MORTISE_WORKSPACE_DIR: temporaryFolder('workspace'),
      },
    });
    hosts.push(host);
    return host;
  };
  const run = (host: TestHost | undefined, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runCommand(host?.origin ?? '', ['--api-key', key, 'workspace', ...args], '', env);
  const admin = { GOVERNANCE_ADMIN_KEY: adminKey };

  before(async () => {
    folder = temporaryFolder('caller');
    [first, second] = [await open(), await open()];
  });
  after(async () => {
    await Promise.all(hosts.map((host) => host.stop()));
  });

  it('move everything to another instance, which exports the same', async () => {
    const config = {
      envs: { A_TOKEN: 'abcdefgh', B: '1' },
      channels: { webhook: { enabled: true, url: 'https://example.com/hook', secret: 'secret-abcdef' } },
    };
    const skills = { greet: { content: 'Greet.', references: { 'a.md': 'A' }, enabled: false } };
    const given = join(folder, 'given.json');
    await writeFile(given, JSON.stringify({ version: 'v1', skills, config }));
    expect(await run(first, ['import', '--file', given])).to.include({ code: 0, stdout: 'Imported.\n' });

    const [out, again] = [join(folder, 'out.json'), join(folder, 'again.json')];
    expect((await run(first, ['export', '--reveal', '--out', out], admin)).stdout).to.contain('secrets in clear');
    expect((await stat(out)).mode & 0o777).to.equal(0o600);
    expect((await run(second, ['import', '--file', out])).code).to.equal(0);
    await run(second, ['export', '--reveal', '--out', again], admin);
    const read = async (path: string) => {
      const text = await readFile(path, 'utf8');
      return JSON.parse(text, (name, value) => (name === 'path' ? undefined : value)) as object;
    };
    expect(await read(again)).to.deep.equal(await read(out));
    expect(JSON.stringify(await read(again))).to.contain('secret-abcdef');
  });

  it('pass an export on through a pipe', async () => {
    const { stdout } = await run(first, ['export']);
    const imported = await runCommand(
      second?.origin ?? '',
      ['--api-key', key, 'workspace', 'import', '--file', '-'],
      stdout,
    );
    expect(imported).to.deep.equal({ code: 0, stdout: 'Imported.\n', stderr: '' });
  });

  it('mask secrets unless an administrator asks for them', async () => {
    const masked = await run(first, ['export']);
    expect(masked.stdout).to.contain('abc***fgh').and.not.contain('abcdefgh');
    const refused = await run(first, ['export', '--reveal', '--out', join(folder, 'refused.json')]);
    expect([refused.code, refused.stderr.startsWith('[forbidden]')]).to.deep.equal([1, true]);
    expect(await readdir(folder)).to.not.include('refused.json');
  });

  it('leave no partial file when writing fails', async () => {
    const taken = join(folder, 'taken');
    await mkdir(taken);
    const { code, stderr } = await run(first, ['export', '--out', taken]);
    expect([code, stderr.startsWith(`[cli_error] ${taken} cannot be written`)]).to.deep.equal([1, true]);
    expect((await readdir(folder)).filter((name) => name.endsWith('.unfinished'))).to.deep.equal([]);
  });

  it('write a file and print it byte for byte', async () => {
    for (const text of ['no line break at the end', 'one\n', 'two\n\n', '\u001b[31mred\t']) {
      const file = join(folder, 'text.md');
      await writeFile(file, text);
      expect((await run(first, ['put', '--path', 'prompts/walk.md', '--file', file])).code).to.equal(0);
      expect(await run(first, ['cat', 'prompts/walk.md'])).to.deep.equal({ code: 0, stdout: text, stderr: '' });
    }
  });

  it('print every character of a document, escaped where a terminal would interpret it', async () => {
    const content = 'left\u202eright \u009b2J\u0007 end';
    const skill = join(folder, 'skill.json');
    await writeFile(skill, JSON.stringify({ content }));
    expect((await run(first, ['put', '--path', 'skills/marks.json', '--file', skill])).code).to.equal(0);
    const document = await run(first, ['cat', 'skills/marks.json']);
    const archive = await run(first, ['export']);
    for (const { stdout } of [document, archive]) {
      expect(stdout).to.contain('left\\u202eright \\u009b2J\\u0007 end');
    }
    expect(JSON.parse(document.stdout)).to.include({ content });
    expect(JSON.parse(archive.stdout).skills.marks).to.include({ content });
  });

  it('upload a file of the client machine', async () => {
    const file = join(folder, 'a report.txt');
    await writeFile(file, 'hello');
    const { code, stdout } = await run(first, ['upload', file]);
    expect(code).to.equal(0);
    expect(await readFile(stdout.trim(), 'utf8')).to.equal('hello');
    await writeFile(file, new Uint8Array(21 * 1_024 * 1_024));
    expect((await run(first, ['upload', file])).stderr).to.match(/^\[cli_error\] the file is larger than 20 MiB/);
    expect((await run(first, ['upload', join(folder, 'none')])).stderr).to.contain('there is no such file');
    const wrong = await runCommand(first?.origin ?? '', [
      '--api-key',
      'wrong',
      'workspace',
      'upload',
      join(folder, 'given.json'),
    ]);
    expect([wrong.code, wrong.stderr.startsWith('[unauthorized]')]).to.deep.equal([1, true]);
  });

  it('report an invalid import and change nothing', async () => {
    const file = join(folder, 'broken.json');
    for (const [text, code] of [
      ['{"version":"v1","config":{"envs":{"A', 'cli_error'],
      ['[]', 'invalid_json'],
      ['{"version":"v2"}', 'invalid_import_version'],
      ['{"mode":"merge","payload":{"version":"v1"}}', 'invalid_import_mode'],
      ['{"version":"v1","config":{"envs":{"X":"1"},"channels":{"sms":{}}}}', 'channel_not_supported'],
    ] as const) {
      await writeFile(file, text);
      const { code: exit, stderr } = await run(first, ['import', '--file', file]);
      expect([exit, stderr.split(']')[0]], text).to.deep.equal([1, `[${code}`]);
    }
    expect((await run(first, ['export'])).stdout).to.contain('"B": "1"');
    for (const args of [['import'], ['upload'], ['upload', 'a', 'b'], ['export', 'x']]) {
      expect((await run(first, args)).code, args.join(' ')).to.equal(2);
    }
  });
});
