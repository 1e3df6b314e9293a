import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startUpstream, type Upstream } from 'mortise/contracts/models/testing';
import { anthropic } from 'mortise/contracts/provider-anthropic/testing';
import { openAi } from 'mortise/contracts/provider-openai/testing';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const run = promisify(execFile);

/** Replaces the program `claude` with the official client, which reads the same variables. */
const claude = `#!${process.execPath}
import { parseArgs } from 'node:util';
import { Anthropic } from '@anthropic-ai/sdk';
const { values } = parseArgs({ options: { model: { type: 'string' }, print: { type: 'string', short: 'p' } } });
const messages = [{ role: 'user', content: values.print }];
const answer = await new Anthropic().messages.create({ model: values.model, max_tokens: 100, messages });
console.log(answer.content[0].text);
`;

describe('the commands for clients in the README', () => {
  let upstream: Upstream;
  let server: ServerProcess;
  let folder: string;

  before(async () => {
    upstream = await startUpstream({ nothingScripted: openAi.fails(500) });
    upstream.always(({ path }) =>
      path === '/v1/messages' ? anthropic.says('They are ', 'cut to fit.') : openAi.says('They fill ', 'the mortise.'),
    );
    server = await startServer({
      env: {
        ANTHROPIC_API_KEY: 'sk-ant-scripted',
        ANTHROPIC_BASE_URL: upstream.baseUrl,
        OPENAI_API_KEY: 'sk-scripted',
        OPENAI_BASE_URL: `${upstream.baseUrl}/v1`,
      },
    });
    folder = await mkdtemp(join(tmpdir(), 'mortise-clients-'));
    await symlink(join(projectDir, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await writeFile(join(folder, 'claude'), claude);
    await chmod(join(folder, 'claude'), 0o755);
  });
  after(async () => {
    await server.dispose();
    await upstream.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('reach models of other providers with the variables of each client', async () => {
    const readme = await readFile(join(projectDir, 'README.md'), 'utf8');
    const section = readme.split(/^## /m).find((part) => part.startsWith('Your own client\n')) ?? '';
    const block = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(section)?.[1] ?? '';
    await writeFile(join(folder, 'ask.mjs'), block('js'));
    const script = block('sh').replaceAll('http://127.0.0.1:8088', server.origin);
    const { stdout } = await run('sh', ['-ec', script], {
      cwd: folder,
      env: { PATH: [folder, dirname(process.execPath), process.env.PATH].join(delimiter), HOME: folder },
    });
    expect(stdout).to.equal('They fill the mortise.\nThey are cut to fit.\n');
    expect(upstream.requests.map(({ path }) => path)).to.deep.equal(['/v1/chat/completions', '/v1/messages']);
  });
});
