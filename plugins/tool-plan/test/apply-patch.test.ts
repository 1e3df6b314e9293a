import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

describe('apply_patch', () => {
  let host: TestHost;
  const at = (...parts: string[]) => join(host.dataDir, ...parts);
  const read = (name: string) => readFile(at(name), 'utf8');
  const missing = (name: string) =>
    stat(at(name)).then(
      () => false,
      () => true,
    );

  before(async () => {
    host = await createTestHost({ plugins: ['agent', 'provider-demo', 'channel-console', 'tool-plan'] });
    await mkdir(at('src'));
    await symlink('/etc', at('out'));
  });
  after(() => host.stop());

  async function patch(lines: readonly string[], extra: object = {}) {
    const text = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
    const biz_params = { tool: { name: 'apply_patch', input: { patch: text, ...extra } } };
    const response = await host.post('/agent/process', { session_id: 's', user_id: 'u', biz_params });
    return (await response.json()) as { reply?: string; error?: { code: string; message: string; details?: object } };
  }

  it('adds, changes, moves and deletes files in one step', async () => {
    await writeFile(at('src/a.txt'), 'one\r\ntwo\r\nthree\r\ntwo\r\nfour');
    await writeFile(at('src/move.sh'), 'echo\n');
    await chmod(at('src/move.sh'), 0o755);
    await writeFile(at('src/gone.txt'), 'x\n');
    const { reply } = await patch([
      '*** Add File: src/new/b.txt',
      '+hello',
      '+',
      '+world',
      '*** Update File: src/a.txt',
      '@@ three',
      ' two',
      '-four',
      '+five',
      '*** End of File',
      '*** Update File: src/move.sh',
      '*** Move to: src/moved.sh',
      '@@',
      '-echo',
      '+echo moved',
      '*** Delete File: src/gone.txt',
    ]);
    expect(reply).to.equal(
      'Success. Updated the following files:\nA src/new/b.txt\nM src/a.txt\nM src/moved.sh\nD src/gone.txt',
    );
    expect(await read('src/new/b.txt')).to.equal('hello\n\nworld\n');
    expect(await read('src/a.txt')).to.equal('one\r\ntwo\r\nthree\r\ntwo\r\nfive');
    expect(await read('src/moved.sh')).to.equal('echo moved\n');
    expect((await stat(at('src/moved.sh'))).mode & 0o777).to.equal(0o755);
    expect([await missing('src/move.sh'), await missing('src/gone.txt')]).to.deep.equal([true, true]);
  });

  it('finds lines although white space differs, each hunk behind the one before', async () => {
    await writeFile(at('src/c.txt'), 'a\n  x  \nb\n  x\nc\n');
    await patch(['*** Update File: c.txt', '@@', '-x', '+first', '@@', ' b', '-  x', '+second'], { workdir: 'src' });
    expect(await read('src/c.txt')).to.equal('a\nfirst\nb\nsecond\nc\n');
  });

  it('changes nothing when one part does not fit', async () => {
    await writeFile(at('src/d.txt'), 'one\n');
    const add = ['*** Add File: src/half.txt', '+x'];
    for (const [lines, message] of [
      [[...add, '*** Update File: src/d.txt', '@@', '-two', '+three'], /hunk 1 of src\/d\.txt does not fit/],
      [[...add, '*** Delete File: src/none.txt'], /src\/none\.txt does not exist/],
      [[...add, '*** Add File: src/d.txt', '+x'], /src\/d\.txt exists already/],
      [[...add, '*** Add File: /etc/mortise', '+x'], /tool input path is invalid/],
      [[...add, '*** Add File: ../../x', '+x'], /tool input path is invalid/],
      [[...add, '*** Delete File: out/passwd'], /tool input path is invalid/],
      [[...add, '*** Add File: config/agent.json', '+{}'], /tool input path is invalid/],
      [['*** Add File: src/half.txt', 'x'], /patch line 3: a line of a new file must begin with \+/],
      [['nonsense'], /patch line 2/],
      [[], /changes no file/],
    ] as const) {
      const { error } = await patch(lines);
      expect(error?.code, String(message)).to.equal('invalid_tool_input');
      expect(error?.message).to.match(message);
      expect(await missing('src/half.txt')).to.equal(true);
    }
    expect(await read('src/d.txt')).to.equal('one\n');
  });
});
