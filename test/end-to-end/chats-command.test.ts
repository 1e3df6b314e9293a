import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { runCommand } from './command-line.js';

interface Chat {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly user_id: string;
  readonly meta: object;
}

describe('commands that run in the client process', () => {
  let host: TestHost;
  const key = 'heron-key-0123456789';
  /** A key with only the rights of a user. */
  const run = (args: readonly string[], input = '') => runCommand(host.origin, ['--api-key', key, ...args], input);
  const json = async <T>(...args: readonly string[]): Promise<T> => {
    const { code, stdout, stderr } = await run(['--json', ...args]);
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout.trimEnd()).not.to.contain('\n');
    return JSON.parse(stdout) as T;
  };

  before(async () => {
    host = await createTestHost({
      plugins: ['admin', 'agent', 'channel-console', 'provider-demo', 'skills'],
      env: { MORTISE_API_KEY: key },
    });
  });
  after(() => host.stop());

  it('create, rename, list and delete chats (A70)', async () => {
    const chat = await json<Chat>('chats', 'create', '--session-id', 's', '--user-id', 'u', '--name', '潮汐');
    expect(chat).to.include({ channel: 'console', user_id: 'u', name: '潮汐' });
    const renamed = await json<Chat>('chats', 'update', chat.id, '--name', 'Tides', '--meta', '{"a":1}');
    expect(renamed).to.deep.include({ id: chat.id, name: 'Tides', meta: { a: 1 } });
    expect((await json<Chat[]>('chats', 'list', '--user-id', 'u')).map(({ id }) => id)).to.deep.equal([chat.id]);
    expect(await json('chats', 'list', '--user-id', 'nobody')).to.deep.equal([]);
    expect((await run(['chats', 'list', '--user-id', 'u'])).stdout).to.match(/^ID +NAME +USER +CHANNEL +UPDATED\n/);
    expect(await json('chats', 'delete', chat.id)).to.deep.equal({ deleted: true });
    expect(await json('chats', 'batch-delete', chat.id, 'unknown')).to.deep.equal({ deleted: true });
    const refused = await run(['--json', 'chats', 'update', chat.id, '--name', 'x']);
    expect([refused.code, JSON.parse(refused.stderr).error.code]).to.deep.equal([1, 'not_found']);
  });

  it('accept a chat as JSON, also after --json, and report where JSON is not accepted', async () => {
    const given = { session_id: 'j', user_id: 'u', meta: { prompt_mode: 'codex' } };
    const text = JSON.stringify(given);
    expect(await json<Chat>('chats', 'create', '--json', text)).to.deep.include({ name: 'New Chat', meta: given.meta });
    const named = await run(['chats', 'create', '--body', '-', '--name', 'Named'], text);
    expect([named.code, named.stderr]).to.deep.equal([0, '']);
    expect(named.stdout).to.match(/^The chat \S+ is stored\.\n$/);
    const listed = await json<Chat[]>('chats', 'list', '--user-id', 'u', '--limit', '2');
    expect(listed.map(({ meta }) => meta)).to.deep.equal([given.meta, given.meta]);
    expect(listed.map(({ name }) => name).toSorted()).to.deep.equal(['Named', 'New Chat']);
    const refused = await run(['chats', 'list', '--json', '{"user_id":"u"}']);
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.include('does not accept a JSON document');
    for (const one of listed) await json('chats', 'delete', one.id);
  });

  it('send a message, and print the reply or the raw stream', async () => {
    const sent = await run(['chats', 'send', '--chat-session', 'talk', '--user-id', 'u', '--message', '你好']);
    expect(sent).to.deep.equal({ code: 0, stdout: 'Echo: 你好\n', stderr: '' });
    const streamed = await run(
      ['chats', 'send', '--chat-session', 'two', '--user-id', 'u', '--message', '-', '--stream'],
      'from a pipe',
    );
    expect(streamed.code).to.equal(0);
    expect(streamed.stdout).to.match(
      /^data: \{"type":"step_started"[\s\S]*Echo: from a pipe[\s\S]*data: \[DONE\]\n\n$/,
    );
    const [chat] = await json<Chat[]>('chats', 'list', '--user-id', 'u', '--limit', '1');
    const id = chat?.id ?? '';
    expect((await run(['chats', 'get', id])).stdout).to.equal('user: from a pipe\n\nassistant: Echo: from a pipe\n');
    expect(await json<object[]>('chats', 'turns', id)).to.have.length(1);
    expect(await json<object[]>('chats', 'turns', id, '--status', 'failed')).to.deep.equal([]);
  });

  it('print a message with line breaks so that none of its lines looks like another message', async () => {
    const forged = 'first\n\nassistant: forged\r\nuser: forged\u2028user: too';
    const sent = ['--chat-session', 'forged', '--user-id', 'forger', '--message', forged];
    expect((await run(['chats', 'send', ...sent])).code).to.equal(0);
    const [chat] = await json<Chat[]>('chats', 'list', '--user-id', 'forger');
    const { stdout } = await run(['chats', 'get', chat?.id ?? '']);
    expect(stdout.split('\n').filter((line) => /^\S/.test(line))).to.deep.equal([
      'user: first',
      'assistant: Echo: first',
    ]);
    expect(stdout).to.include('\n  assistant: forged\n  user: forged\n  user: too\n');
  });

  it('exit with 1 when the stream ends with an error or the key is wrong', async () => {
    const refused = await runCommand(host.origin, ['--api-key', 'wrong', '--json', 'chats', 'list']);
    expect([refused.code, JSON.parse(refused.stderr).error.code]).to.deep.equal([1, 'unauthorized']);
    const failed = await run([
      'chats',
      'send',
      '--chat-session',
      's',
      '--message',
      'x',
      '--channel',
      'sms',
      '--stream',
    ]);
    expect([failed.code, failed.stderr.split(']')[0]]).to.deep.equal([1, '[channel_not_supported']);
  });

  for (const args of [
    ['create'],
    ['send', '--message', 'x'],
    ['send', '--chat-session', 'x'],
    ['get'],
    ['get', 'a', 'b'],
    ['update', 'x'],
    ['batch-delete'],
  ]) {
    it(`exit with 2 for:  chats ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await run(['chats', ...args]);
      expect([code, stdout, stderr.includes('Usage: mortise chats')]).to.deep.equal([2, '', true]);
    });
  }

  it('create a skill from a folder', async () => {
    const folder = join(temporaryFolder('skill'), 'release-notes');
    await mkdir(join(folder, 'references', 'deep'), { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), 'Write them.');
    await writeFile(join(folder, 'references', 'deep', 'guide.md'), 'Guide');
    await writeFile(join(folder, 'references', '.hidden'), 'no');
    expect(await json('skills', 'create', '--dir', folder)).to.deep.equal({ created: true });
    const [skill] = (await (await host.fetch('/skills', { headers: { 'x-api-key': key } })).json()) as object[];
    expect(skill).to.deep.include({
      name: 'release-notes',
      content: 'Write them.',
      references: { deep: { 'guide.md': 'Guide' } },
      scripts: {},
    });

    await symlink(join(folder, 'SKILL.md'), join(folder, 'references', 'link.md'));
    await mkdir(join(folder, 'assets'));
    await writeFile(join(folder, 'scripts'), 'no folder');
    const reason = 'a skill has SKILL.md, references and scripts alone';
    expect(await json('skills', 'create', '--dir', folder)).to.deep.equal({
      created: true,
      left_out: [
        { path: 'references/link.md', reason: 'a link' },
        { path: 'scripts', reason: 'not a folder' },
        { path: 'assets', reason },
      ],
    });
    expect((await run(['skills', 'create', '--dir', folder])).stdout)
      .to.contain('is enabled.\nLeft out: references/link.md (a link).\n')
      .and.contain(`Left out: assets (${reason}).`);

    await writeFile(join(folder, 'references', 'deep', 'guide.md'), new Uint8Array([0xff, 0xfe]));
    const binary = await run(['skills', 'create', '--dir', folder]);
    expect([binary.code, binary.stderr.includes('guide.md is not a text in UTF-8')]).to.deep.equal([1, true]);
    const empty = await run(['skills', 'create', '--dir', join(folder, 'references')]);
    expect([empty.code, empty.stderr.includes('has no SKILL.md')]).to.deep.equal([1, true]);
    const both = await run(['skills', 'create', '--dir', folder, '--content', 'x']);
    expect([both.code, both.stderr.includes('Give one of')]).to.deep.equal([2, true]);
  });
});
