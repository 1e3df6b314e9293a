import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';

interface Answer {
  readonly status: number;
  readonly reply?: string;
  readonly error?: { code: string; message: string; details?: object };
}

describe('file tools', () => {
  let host: TestHost;
  let root: string;

  before(async () => {
    host = await createTestHost({
      plugins: ['agent', 'provider-demo', 'channel-console', 'logbook', 'tool-files'],
    });
    root = host.dataDir;
    await mkdir(join(root, 'src'));
    await symlink('/etc', join(root, 'out'));
    await symlink(join(root, 'src'), join(root, 'inside'));
    await symlink('/nowhere/at/all', join(root, 'dangling'));
  });
  after(() => host.stop());

  const at = (...parts: string[]) => join(root, ...parts);
  const write = (name: string, text: string) => writeFile(at(name), text);
  const read = (name: string) => readFile(at(name), 'utf8');

  async function call(tool: string, ...items: object[]): Promise<Answer> {
    const response = await host.post('/agent/process', {
      session_id: 's',
      user_id: 'u',
      biz_params: { tool: { name: tool, items } },
    });
    return { status: response.status, ...((await response.json()) as object) };
  }

  async function claude(tool: string, input: object): Promise<Answer> {
    const biz_params = { prompt_mode: 'claude', tool: { name: tool, input } };
    const response = await host.post('/agent/process', { session_id: 'c', user_id: 'u', biz_params });
    return { status: response.status, ...((await response.json()) as object) };
  }

  const invalid = (message: string) => ({ code: 'invalid_tool_input', message });
  const outside = { ...invalid('tool input path is invalid'), details: { reason: 'outside_roots' } };

  describe('are confined', () => {
    it('to the workspace, whatever the form of the path', async () => {
      for (const path of [
        '/etc/passwd',
        at('..', 'x'),
        at('src', '..', '..', '..', 'etc', 'passwd'),
        at('out', 'passwd'),
        at('dangling'),
        at('dangling', 'x'),
        '/proc/self/environ',
        '/dev/zero',
      ]) {
        expect(await call('view', { path, start: 1, end: 2 }), path).to.deep.equal({ status: 400, error: outside });
        const edit = { path, start: 1, end: 1, content: 'x' };
        expect(await call('edit', edit), path).to.deep.equal({ status: 400, error: outside });
        expect((await call('find', { path, pattern: 'x' })).error, path).to.deep.equal(outside);
      }
      expect((await call('view', { path: 'src/a', start: 1, end: 2 })).error).to.include({
        message: 'tool input path is invalid',
      });
      expect((await call('view', { path: `${at('src')}\0`, start: 1, end: 2 })).error?.code).to.equal(
        'invalid_tool_input',
      );
    });

    it('and leave an audit row for each refusal', async () => {
      await call('view', { path: '/etc/shadow', start: 1, end: 2 });
      const audited = async () => {
        const { rows } = await host.app.database
          .forPlugin('probe', ['governance'])
          .statement("select reason from {governance.write_audit} where reason = 'forbidden:view'");
        return rows.length > 0;
      };
      await until('the audit row', audited, 10_000);
    });

    it("away from the platform's own files", async () => {
      await writeFile(join(host.configDir, 'agent.json'), '{}');
      for (const path of [join(host.configDir, 'agent.json'), at('.env'), join(host.dataDir, 'data', 'mortise.db')]) {
        expect((await call('view', { path, start: 1, end: 2 })).error, path).to.deep.equal(outside);
        expect((await call('edit', { path, start: 1, end: 1, content: 'x' })).error, path).to.deep.equal(outside);
      }
      const edit = { path: host.pluginsFile, start: 1, end: 1, content: '{' };
      expect((await call('edit', edit)).error).to.deep.equal(outside);
      const found = await call('find', { path: '.', pattern: 'plugins' });
      expect(found.reply).to.not.match(/config\/|data\//);
    });

    it('follow links that stay inside', async () => {
      await write('src/linked.txt', 'one\n');
      expect((await call('view', { path: at('inside', 'linked.txt'), start: 1, end: 1 })).reply).to.contain('1: one');
      await symlink(at('src', 'linked.txt'), at('to-file'));
      expect((await call('edit', { path: at('to-file'), start: 1, end: 1, content: 'two' })).status).to.equal(200);
      expect(await read('src/linked.txt')).to.equal('two\n');
    });
  });

  describe('view', () => {
    before(() => write('src/lines.txt', 'one\ntwo\nthree\n'));
    const view = async (start: number, end: number, name = 'lines.txt') =>
      (await call('view', { path: at('src', name), start, end })).reply;

    it('shows lines with their numbers', async () => {
      expect(await view(2, 3)).to.equal(`view ${at('src', 'lines.txt')} [2-3]\n2: two\n3: three`);
    });

    it('shows the whole file when the range goes beyond its end', async () => {
      const path = at('src', 'lines.txt');
      expect(await view(3, 9)).to.equal(
        `view ${path} [1-3] (fallback from requested [3-9], total=3)\n1: one\n2: two\n3: three`,
      );
      await write('src/empty.txt', '');
      const empty = at('src', 'empty.txt');
      expect(await view(1, 2, 'empty.txt')).to.equal(`view ${empty} [empty] (fallback from requested [1-2], total=0)`);
      await write('src/long.txt', 'x\n'.repeat(1_000));
      expect((await view(900, 1_100, 'long.txt'))?.split('\n')).to.have.length(401);
    });

    it('refuses with a documented sentence', async () => {
      const path = at('src', 'lines.txt');
      for (const [item, message] of [
        [{ start: 1, end: 2 }, 'tool input path is required'],
        [{ path, end: 2 }, 'tool input start must be an integer >= 1'],
        [{ path, start: 0, end: 2 }, 'tool input start must be an integer >= 1'],
        [{ path, start: 1, end: '2' }, 'tool input end must be an integer >= 1'],
        [{ path, start: 3, end: 2 }, 'tool input line range is invalid'],
        [{ path, start: 1, end: 401 }, 'tool input line range is too large'],
        [{ path: `/${'a'.repeat(5_000)}`, start: 1, end: 2 }, '/items/0/path must be text of 1 to 4096 characters'],
        [{ path: at('src', 'missing'), start: 1, end: 2 }, 'target file does not exist'],
        [{ path: at('src'), start: 1, end: 2 }, 'tool input path is invalid'],
      ] as const) {
        const { status, error } = await call('view', item);
        expect({ status, code: error?.code, message: error?.message }).to.deep.equal({
          status: 400,
          ...invalid(message),
        });
      }
      await writeFile(at('src', 'binary'), Buffer.from([1, 0, 2]));
      expect((await call('view', { path: at('src', 'binary'), start: 1, end: 2 })).error?.message).to.equal(
        'tool input path is invalid',
      );
    });
  });

  describe('edit', () => {
    const edit = (name: string, start: number, end: number, content: string) =>
      call('edit', { path: at('src', name), start, end, content });

    it('replaces, removes and adds lines, and keeps line ends and mode', async () => {
      await write('src/crlf.txt', 'one\r\ntwo\r\nthree');
      await chmod(at('src', 'crlf.txt'), 0o755);
      expect((await edit('crlf.txt', 2, 2, 'a\nb\n')).reply).to.equal(
        `edit ${at('src', 'crlf.txt')} [2-2] replaced 1 line(s).`,
      );
      expect(await read('src/crlf.txt')).to.equal('one\r\na\r\nb\r\nthree');
      await edit('crlf.txt', 4, 4, 'end\n');
      expect(await read('src/crlf.txt')).to.equal('one\r\na\r\nb\r\nend');
      await edit('crlf.txt', 1, 3, '');
      expect(await read('src/crlf.txt')).to.equal('end');
      expect((await stat(at('src', 'crlf.txt'))).mode & 0o777).to.equal(0o755);
    });

    it('creates a missing file with its folders', async () => {
      expect((await edit('new/deep/file.txt', 1, 1, 'hello\n')).status).to.equal(200);
      expect(await read('src/new/deep/file.txt')).to.equal('hello\n');
    });

    it('writes all items or none', async () => {
      await write('src/a.txt', 'a\n');
      const good = { path: at('src', 'a.txt'), start: 1, end: 1, content: 'changed' };
      const bad = { path: at('src', 'lines.txt'), start: 7, end: 7, content: 'x' };
      expect((await call('edit', good, bad)).error?.message).to.equal('tool input line range is out of file bounds');
      expect(await read('src/a.txt')).to.equal('a\n');
      expect((await call('edit', good, { ...good, content: 'again' })).status).to.equal(200);
      expect(await read('src/a.txt')).to.equal('again\n');
    });

    it('leaves a file in another encoding as it is', async () => {
      const gbk = Buffer.from('d6d0cec40a6c696e6520320a', 'hex');
      await writeFile(at('src', 'gbk.txt'), gbk);
      const sentence = 'target file is not UTF-8 text: convert it to UTF-8 first';
      expect((await edit('gbk.txt', 2, 2, 'second')).error).to.include(invalid(sentence));
      const exact = { file_path: at('src', 'gbk.txt'), old_string: 'line 2', new_string: 'second' };
      expect((await claude('Edit', exact)).error).to.include(invalid(sentence));
      expect(await readFile(at('src', 'gbk.txt'))).to.deep.equal(gbk);
    });

    it('loses no edit of many at once', async () => {
      await write('src/many.txt', 'x\n'.repeat(8));
      const lines = [1, 2, 3, 4, 5, 6, 7, 8];
      const session = (line: number) =>
        host.post('/agent/process', {
          session_id: `many-${line}`,
          user_id: 'u',
          edit: [{ path: at('src', 'many.txt'), start: line, end: line, content: `line ${line}` }],
        });
      await Promise.all(lines.map(session));
      expect(await read('src/many.txt')).to.equal(lines.map((line) => `line ${line}\n`).join(''));
    });
  });

  it('find a literal text in files and folders', async () => {
    await mkdir(at('find', 'node_modules'), { recursive: true });
    await write('find/a.txt', 'Harbour (a)\nnothing\nharbour (a)\n');
    await write('find/b.txt', 'no\n');
    await write('find/node_modules/c.txt', 'harbour (a)\n');
    await symlink('/etc', at('find', 'etc'));
    expect((await call('find', { path: 'find', pattern: 'harbour (a)' })).reply).to.equal(
      'find find pattern="harbour (a)" matched 1 line(s)\na.txt:3: harbour (a)',
    );
    expect((await call('find', { path: 'find/a.txt', pattern: 'HARBOUR', ignore_case: true })).reply).to.equal(
      'find find/a.txt pattern="HARBOUR" matched 2 line(s) (ignore_case=true)\n1: Harbour (a)\n3: harbour (a)',
    );
    await write('find/many.txt', 'x\n'.repeat(300));
    expect((await call('find', { path: 'find/many.txt', pattern: 'x' })).reply?.split('\n')[0]).to.equal(
      'find find/many.txt pattern="x" matched 300 line(s) (showing first 200)',
    );
    expect((await call('find', { path: 'find/none', pattern: 'x' })).error?.message).to.equal(
      'target file does not exist',
    );
    expect((await call('find', { path: 'find' })).error?.message).to.equal('tool input pattern is required');
  });

  describe('of Claude', () => {
    it('read, write and edit', async () => {
      expect((await claude('Write', { file_path: 'claude/a.txt', content: 'one\ntwo\ntwo\n' })).reply).to.equal(
        'Write claude/a.txt ok (bytes=12)',
      );
      expect((await claude('Read', { file_path: 'claude/a.txt', offset: 2, limit: 1 })).reply).to.equal('     2\ttwo');
      const twice = { file_path: 'claude/a.txt', old_string: 'two', new_string: '$&2' };
      expect((await claude('Edit', twice)).error?.message).to.match(/occurs 2 times/);
      expect((await claude('Edit', { ...twice, replace_all: true })).reply).to.equal(
        'Edit claude/a.txt ok (replacements=2)',
      );
      expect(await read('claude/a.txt')).to.equal('one\n$&2\n$&2\n');
      const edits = [
        { old_string: 'one', new_string: 'first' },
        { old_string: 'missing', new_string: '' },
      ];
      expect((await claude('MultiEdit', { file_path: 'claude/a.txt', edits })).error?.message).to.match(/not found/);
      expect(await read('claude/a.txt')).to.match(/^one/);
      await write('claude/none.txt', '');
      expect((await claude('Read', { file_path: 'claude/none.txt' })).reply).to.equal('Read claude/none.txt [empty]');
    });

    it('stay in the workspace', async () => {
      for (const [tool, input] of [
        ['Read', { file_path: '/etc/passwd' }],
        ['Write', { file_path: '../x', content: '' }],
        ['Edit', { file_path: 'out/hosts', old_string: 'a', new_string: 'b' }],
        ['MultiEdit', { file_path: 'out/hosts', edits: [{ old_string: 'a', new_string: 'b' }] }],
        ['NotebookRead', { notebook_path: '/etc/hosts' }],
        ['NotebookEdit', { notebook_path: '/etc/hosts', new_source: '' }],
        ['LS', { path: '/' }],
        ['Glob', { path: '/etc', pattern: '*' }],
        ['Grep', { path: 'out', pattern: 'root' }],
      ] as const) {
        expect((await claude(tool, input)).error, tool).to.deep.equal(outside);
      }
    });

    it('edit notebooks by cell id', async () => {
      const cells = [
        { id: 'a', cell_type: 'code', source: ['x = 1'], outputs: [{}], execution_count: 3, metadata: {} },
      ];
      await write('note.ipynb', JSON.stringify({ cells, nbformat: 4, metadata: { kernel: 'k' } }));
      const edit = (input: object) => claude('NotebookEdit', { notebook_path: 'note.ipynb', new_source: '', ...input });
      await edit({ cell_id: 'a', new_source: 'x = 2\ny = 3' });
      await edit({ cell_id: 'a', edit_mode: 'insert', cell_type: 'markdown', new_source: '# hi' });
      const notebook = JSON.parse(await read('note.ipynb'));
      expect(notebook.metadata).to.deep.equal({ kernel: 'k' });
      expect(notebook.cells[0]).to.deep.include({ source: ['x = 2\n', 'y = 3'], outputs: [], execution_count: null });
      expect(notebook.cells[1]).to.deep.include({ cell_type: 'markdown', source: ['# hi'] });
      expect((await claude('NotebookRead', { notebook_path: 'note.ipynb' })).reply).to.contain(
        '<cell id="a" type="code">',
      );
      expect((await edit({ cell_id: 'a', edit_mode: 'delete' })).status).to.equal(200);
      expect((await edit({ cell_id: 'zz' })).error?.message).to.match(/no cell/);
    });

    it('list and search', async () => {
      await mkdir(at('tree', 'sub'), { recursive: true });
      await write('tree/b.ts', 'const b = 1;\nexport { b };\n');
      await write('tree/sub/a.ts', 'const a = 1;\n');
      await write('tree/x.md', 'const\n');
      expect((await claude('LS', { path: 'tree', ignore: ['*.md'] })).reply).to.equal('b.ts\nsub/');
      expect((await claude('Glob', { path: 'tree', pattern: '**/*.ts' })).reply?.split('\n')).to.have.members([
        at('tree', 'b.ts'),
        at('tree', 'sub', 'a.ts'),
      ]);
      const grep = async (input: object) => (await claude('Grep', { path: 'tree', ...input })).reply;
      expect(await grep({ pattern: 'const \\w' })).to.equal('b.ts\nsub/a.ts');
      expect(await grep({ pattern: 'CONST', '-i': true, glob: '*.ts', output_mode: 'count' })).to.equal(
        'b.ts:1\nsub/a.ts:1',
      );
      expect(await grep({ pattern: 'const b', output_mode: 'content', '-n': true, '-A': 1 })).to.equal(
        'b.ts:1:const b = 1;\nb.ts-2-export { b };',
      );
      expect(await grep({ pattern: '1;\\nexport', multiline: true, type: 'ts' })).to.equal('b.ts');
      expect((await claude('Grep', { pattern: '(' })).error).to.include({ code: 'invalid_tool_input' });
    });

    it('end a search that would never return', async () => {
      await write('tree/evil.txt', `${'a'.repeat(40)}b\n`);
      const { status, error } = await claude('Grep', { path: 'tree/evil.txt', pattern: '^(a+)+$' });
      expect({ status, code: error?.code }).to.deep.equal({ status: 504, code: 'tool_timeout' });
    });
  });
});
