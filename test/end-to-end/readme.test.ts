import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const run = promisify(execFile);

/** Fenced blocks of one language below a heading of the README. */
async function blocks(heading: string, language: string): Promise<readonly string[]> {
  const text = await readFile(join(projectDir, 'README.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  expect(section, `a section "${heading}"`).to.be.a('string');
  return [...(section ?? '').matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    (match) => match[1] ?? '',
  );
}

describe('the README', () => {
  let server: ServerProcess;

  before(async () => {
    server = await startServer({
      plugins: JSON.parse(await readFile(join(projectDir, 'plugins.json'), 'utf8')) as object,
    });
  });
  after(() => server.dispose());

  /** Runs a block as a reader would paste it, against the server of this test. */
  async function paste(block: string): Promise<string> {
    const cli = `${process.execPath} ${join(projectDir, 'dist', 'core', 'cli', 'main.js')} --api-base ${server.origin}`;
    const script = block.replaceAll('http://127.0.0.1:8088', server.origin).replaceAll('npx mortise', cli);
    const { stdout } = await run('sh', ['-ec', script], { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
    return stdout;
  }

  it('holds a first conversation', async () => {
    const [block = ''] = await blocks('First conversation', 'sh');
    expect(JSON.parse(await paste(block))).to.have.property('reply', 'Echo: hello');
  });

  it('stores a first memory and finds it', async () => {
    const [block = ''] = await blocks('First memory', 'sh');
    const answers = (await paste(block)).trim().split(/(?<=\})(?=\{"jsonrpc")/);
    const [stored, found] = answers.map((text) =>
      JSON.parse((JSON.parse(text) as { result: { content: { text: string }[] } }).result.content[0]?.text ?? ''),
    );
    expect(stored).to.include({ ok: true, action: 'allow', space_written: 'private:me' });
    expect(found.results[0].content).to.equal('The harbour opens at six.');
  });

  it('finds a passage of its documents with its lines', async () => {
    const [block = ''] = await blocks('First search', 'sh');
    const answer = await paste(`cd ${projectDir}\n${block}`);
    expect(answer).to.match(/^Total files: [1-9]\d+$/m);
    expect(answer).to.match(/^1\. {2}\S+\.md:\d+ {2}L\d+-L\d+/m);
    expect(answer).to.include('ARCHITECTURE.md');
    expect(answer).to.match(/^ {3}document_boost: /m);
  });

  it('adds a first plugin of at most 15 lines without a restart', async () => {
    const [facts = ''] = await blocks('First plugin', 'json');
    const [code = ''] = await blocks('First plugin', 'js');
    const [commands = ''] = await blocks('First plugin', 'sh');
    expect(code.trim().split('\n').length).to.be.at.most(15);
    const folder = join(server.pluginsDir, 'tool-echo');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'plugin.json'), facts);
    await writeFile(join(folder, 'index.js'), code);
    const output = await paste(commands);
    expect(output).to.contain('tool-echo is active');
    expect(output).to.contain('\\"text\\":\\"hi\\"');
  });

  it('lists every plugin with its summary and whether it is enabled', async () => {
    const readme = await readFile(join(projectDir, 'README.md'), 'utf8');
    const { plugins } = JSON.parse(await readFile(join(projectDir, 'plugins.json'), 'utf8')) as {
      plugins: Record<string, { enabled: boolean }>;
    };
    for (const key of await readdir(join(projectDir, 'plugins'))) {
      const { summary } = JSON.parse(await readFile(join(projectDir, 'plugins', key, 'plugin.json'), 'utf8')) as {
        summary: string;
      };
      const row = `| [${key}](plugins/${key}/README.md) | ${summary} | ${plugins[key]?.enabled ? 'on' : 'off'} |`;
      expect(readme, key).to.contain(row);
    }
  });

  it('manages the server with the commands it names', async () => {
    const [block = ''] = await blocks('Managing it', 'sh');
    const output = await paste(block);
    for (const word of ['mcp-server', 'active', 'stops:', 'VALUE', 'Usage: mortise']) expect(output).to.contain(word);
  });
});
