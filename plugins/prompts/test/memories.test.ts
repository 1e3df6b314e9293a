import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { type FakeModel, fakeModel, says, user } from 'mortise/contracts/agent/testing';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { readConsolidation, readExtract } from '../memories/read-answers.js';
import { transcriptOf } from '../memories/transcript.js';

const extract = { rollout_summary: 'Tabs were chosen.', rollout_slug: 'Use Tabs!', raw_memory: 'The user likes tabs.' };
const merged = { memory_md: '# Memory\nTabs.', memory_summary_md: 'Likes tabs.' };
const keys = [{ key: 'alice-key-0123456789', id: 'alice-laptop', actor: 'alice' }];

describe('the memories of the codex mode', () => {
  let host: TestHost;
  let model: FakeModel;

  async function start(env: Readonly<Record<string, string>> = {}, answers: readonly string[] = []): Promise<void> {
    const [first = JSON.stringify(extract), second = JSON.stringify(merged)] = answers;
    model = fakeModel(({ messages }) => {
      const system = JSON.stringify(messages[0]?.content);
      if (system.includes('Extract what is worth')) return says(first);
      return system.includes('Merge new memories') ? says(second) : says('fine');
    });
    const plugins = ['agent', 'channel-console', 'prompts'];
    host = await createTestHost({ plugins, extra: [model.plugin], env });
  }
  afterEach(() => host.stop());

  const turn = async (text: string, headers: Readonly<Record<string, string>> = {}, promptMode = 'codex') => {
    const biz_params = { prompt_mode: promptMode };
    const body = { session_id: 's', user_id: 'alice', input: [user(text)], biz_params };
    expect((await host.post('/agent/process', body, headers)).status).to.equal(200);
  };
  const folder = () => join(host.dataDir, '.codex', 'memories');
  const read = (name: string) => readFile(join(folder(), name), 'utf8').catch(() => undefined);
  const logged = (text: string) => until(text, () => host.logs.some((line) => line.includes(text)));
  const written = () => logged('the memories of a chat were written');
  const failed = () => logged('the memories of a chat could not be written');

  it('are extracted and merged after a /memory turn', async () => {
    await start();
    await turn('Please use tabs. api_key=sk-abcdefghijklmnopqrstuvwx0123');
    await turn('/memory');
    await written();
    expect(await read('rollout_summaries/use-tabs.md')).to.equal('Tabs were chosen.\n');
    expect(await read('raw_memories.md')).to.equal('## use-tabs\n\nThe user likes tabs.\n');
    expect(await read('MEMORY.md')).to.equal('# Memory\nTabs.\n');
    expect(await read('memory_summary.md')).to.equal('Likes tabs.\n');
    const [asked, merging] = model.requests.slice(-2).map(({ messages }) => JSON.stringify(messages));
    expect(asked)
      .to.contain('user: Please use tabs.')
      .and.to.not.contain('sk-abcdef')
      .and.to.not.contain('user: /memory');
    expect(merging).to.contain('The user likes tabs.').and.to.contain(folder());
    // The next job merges into them.
    await turn('/memory again');
    await until('the memories in a merge', () =>
      model.requests.some(({ messages }) => JSON.stringify(messages).includes('# memory_summary.md\\n\\nLikes tabs.')),
    );
  });

  it('are not touched by other turns, or without anything to remember', async () => {
    await start();
    await turn('/memory', {}, 'default');
    await turn('/review');
    await host.post('/chats/batch-delete', [
      ...((await (await host.fetch('/chats?user_id=alice')).json()) as { id: string }[]).map(({ id }) => id),
    ]);
    await turn('/memory');
    await host.stop();
    expect(await readdir(folder()).catch(() => [])).to.deep.equal([]);
    expect(host.logs.join('')).to.not.contain('memories of a chat');
  });

  it('stay as they are when the model does not answer as asked, and the turn is not affected', async () => {
    await start({}, [undefined as unknown as string, 'I cannot do that.']);
    await mkdir(folder(), { recursive: true });
    await writeFile(join(folder(), 'MEMORY.md'), 'Old.\n');
    await turn('Please use tabs.');
    await turn('/memory');
    await failed();
    expect(await read('MEMORY.md')).to.equal('Old.\n');
    expect(await read('raw_memories.md')).to.contain('The user likes tabs.');
    expect(host.logs.join('')).to.contain('invalid_answer').and.not.contain('I cannot do that');
  });

  it('of a bound user are in a folder of its own', async () => {
    await start({ MORTISE_API_KEYS: JSON.stringify(keys) });
    const headers = { 'x-api-key': 'alice-key-0123456789' };
    await turn('Please use tabs.', headers);
    await turn('/memory', headers);
    await written();
    expect(await read('MEMORY.md')).to.equal(undefined);
    const [own = ''] = await readdir(join(folder(), 'users'));
    expect(await read(`users/${own}/MEMORY.md`)).to.equal('# Memory\nTabs.\n');
  });

  it('never leave the workspace through a link', async () => {
    await start();
    const outside = join(host.dataDir, '..', `outside-${process.pid}`);
    await mkdir(outside, { recursive: true });
    await symlink(outside, join(host.dataDir, '.codex'));
    await turn('Please use tabs.');
    await turn('/memory');
    await failed();
    expect(await readdir(outside)).to.deep.equal([]);
    await rm(outside, { recursive: true });
  });

  it('are read from prose and code blocks too, and from nothing else', () => {
    expect(readExtract(`Here:\n\`\`\`json\n${JSON.stringify(extract)}\n\`\`\``, 'turn-1').slug).to.equal('use-tabs');
    expect(readExtract(JSON.stringify({ ...extract, rollout_slug: '../..' }), 'turn-1').slug).to.equal('turn-1');
    for (const answer of ['', '{', '[]', '{"memory_md":"x"}', '{"memory_md":"x","memory_summary_md":" "}']) {
      expect(() => readConsolidation(answer), answer).to.throw('did not answer');
    }
  });

  it('come from the newest messages that fit', () => {
    const messages = [1, 2, 3].map((n) => ({ role: 'user' as const, content: `message ${n} ${'word '.repeat(20)}` }));
    expect(transcriptOf(messages, 50)).to.match(/^user: message 2/);
    const long = [{ role: 'tool' as const, content: 'x'.repeat(900) }];
    expect(transcriptOf(long, 1_000)).to.have.length('tool: '.length + 500 + 3);
  });
});
