import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Upstream } from 'mortise/contracts/models/testing';
import { anthropic, startFakeAnthropic } from 'mortise/contracts/provider-anthropic/testing';
import { type FakeOpenAi, openAi, startFakeOpenAi } from 'mortise/contracts/provider-openai/testing';
import { type ServerProcess, startServer, until } from 'mortise/sdk/testing';
import { apiKey } from './platform.js';

const projectDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The environments of the commands that start the server with a model. */
async function commands(file: string): Promise<readonly Record<string, string>[]> {
  const text = await readFile(join(projectDir, file), 'utf8');
  return [...text.matchAll(/^((?:[A-Z_]+=\S+ )*MORTISE_MODEL=\S+ )npm start$/gm)].map(([, assignments = '']) =>
    Object.fromEntries(
      assignments
        .trim()
        .split(' ')
        .map((one) => one.split('=', 2) as [string, string]),
    ),
  );
}

describe('the commands that switch to a real model', () => {
  let upstream: FakeOpenAi;
  let claude: Upstream;
  let server: ServerProcess | undefined;

  beforeEach(async () => {
    upstream = await startFakeOpenAi({ apiKey });
    upstream.always(openAi.says('from the', ' real one'));
    claude = await startFakeAnthropic({ apiKey });
    claude.always(anthropic.says('from the', ' real one'));
  });

  afterEach(async () => {
    await server?.dispose();
    server = undefined;
    await Promise.all([upstream.stop(), claude.stop()]);
  });

  /** Runs the shipped server in a separate process, with a local API. */
  async function reply(env: Readonly<Record<string, string>>): Promise<string> {
    const started = await startServer({ env });
    server = started;
    await until('every required plugin is active', async () => (await started.fetch('/ready')).ok);
    const answer = await started.post('/agent/process', {
      session_id: 's1',
      user_id: 'me',
      input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: 'hello' }] }],
    });
    return ((await answer.json()) as { reply: string }).reply;
  }

  for (const file of ['README.md', 'plugins/provider-openai/README.md']) {
    it(`work as in ${file}`, async () => {
      const found = await commands(file);
      expect(found.length).to.be.greaterThan(0);
      for (const env of found) {
        const [provider = ''] = env.MORTISE_MODEL?.split('/') ?? [];
        const prefix = provider.toUpperCase();
        const api = provider === 'anthropic' ? claude : upstream;
        const account = { [`${prefix}_API_KEY`]: apiKey, [`${prefix}_BASE_URL`]: api.baseUrl };
        expect(await reply({ ...env, ...account })).to.equal('from the real one');
        const asked = api.requests.at(-1)?.body as { model: string } | undefined;
        expect(`${provider}/${asked?.model}`).to.equal(env.MORTISE_MODEL);
        await server?.dispose();
      }
    });
  }

  it('are needed: a key alone changes nothing', async () => {
    expect(await reply({ OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: upstream.baseUrl })).to.equal('Echo: hello');
    expect(upstream.requests).to.deep.equal([]);
  });
});
