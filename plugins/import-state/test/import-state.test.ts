import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { JsonObject } from 'mortise/sdk';
import { createTestHost, eachDatabase, localPrincipal, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import type { ImportReport } from '../import-state.js';

const message = (role: string, text: string) => ({
  id: `m-${text}`,
  role,
  type: 'message',
  content: [{ type: 'text', text }],
});
const chat = (id: string, session_id: string) => ({
  id,
  name: `Chat ${id}`,
  session_id,
  user_id: 'anna',
  channel: 'console',
  meta: { a: 1 },
});
const job = (id: string) => ({
  id,
  name: id,
  enabled: false,
  schedule: { type: 'interval', cron: '1h' },
  text: 'hi',
  dispatch: { target: { user_id: 'anna', session_id: 's1' } },
});
const state = {
  schema_version: 1,
  chats: { one: chat('one', 's1'), two: chat('two', 's2'), broken: { id: 'broken' } },
  histories: {
    one: [message('user', 'Hello'), message('assistant', 'Hi.'), { role: 'tool', content: [] }, 'no message'],
    two: [],
  },
  cron_jobs: { news: job('news'), bad: { ...job('bad'), schedule: { type: 'weekly' } } },
  cron_states: { news: { last_status: 'succeeded' } },
  providers: { openai: { api_key: 'sk-abcdef123456', base_url: '', timeout_ms: 0 } },
  active_llm: { provider_id: 'openai', model: 'gpt-4o-mini' },
  envs: { EDITOR: 'vi' },
  skills: { greet: { name: 'greet', content: 'Greet.', enabled: true } },
  channels: { console: {}, sms: {} },
};

describe('the import of a state file', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let folder: string;

    beforeEach(async () => {
      folder = temporaryFolder('state');
      host = await createTestHost({
        plugins: ['import-state', 'agent', 'provider-demo', 'provider-openai', 'channel-console', 'cron-nodes'],
        database: engine.env,
      });
    });
    afterEach(() => host.stop());

    const run = async (content: unknown): Promise<{ readonly exitCode: number; readonly data: ImportReport }> => {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await writeFile(join(folder, 'state.json'), text);
      const result = await host.points.call('command', 'import-state', ({ run: command }, ctx) =>
        command({ args: ['state.json'], options: {}, json: true, cwd: folder }, { ...ctx, principal: localPrincipal }),
      );
      return result as never;
    };
    const get = async <T = JsonObject>(path: string): Promise<T> => (await (await host.fetch(path)).json()) as T;

    it('takes over what is valid, and says what is not and why', async () => {
      const { exitCode, data } = await run(state);
      expect(exitCode).to.equal(1);
      expect(data.imported).to.deep.equal({
        chats: 2,
        messages: 2,
        jobs: 1,
        providers: 1,
        envs: 1,
        skills: 1,
        channels: 1,
      });
      expect(data.skipped).to.deep.equal([
        { what: 'channel', id: 'sms', reason: 'there is no such channel' },
        { what: 'messages', id: 'one', reason: '1 left out: results of tools' },
        { what: 'messages', id: 'one', reason: '1 left out: not an object' },
        { what: 'chat', id: 'broken', reason: 'session_id, user_id, channel are required' },
        { what: 'job', id: 'bad', reason: 'unsupported schedule.type="weekly"' },
      ]);
      const { messages } = await get<{ messages: { role: string; content: { text: string }[] }[] }>('/chats/one');
      expect(messages.map(({ role, content }) => [role, content[0]?.text])).to.deep.equal([
        ['user', 'Hello'],
        ['assistant', 'Hi.'],
      ]);
      const names = (await get<{ id: string; name: string }[]>('/chats?user_id=anna')).map(({ name }) => name);
      expect(names).to.have.members(['Chat one', 'Chat two']);
      expect(await get('/models/active')).to.deep.equal({ active_llm: state.active_llm });
      expect(await get('/envs')).to.deep.equal([{ key: 'EDITOR', value: 'vi' }]);
      expect((await get<{ name: string }[]>('/skills')).map(({ name }) => name)).to.deep.equal(['greet']);
      expect((await get<{ id: string }[]>('/cron/jobs')).map(({ id }) => id)).to.include('news');
    });

    it('lets a conversation go on where it was', async () => {
      await run({ ...state, active_llm: {} });
      const body = { session_id: 's1', user_id: 'anna', input: [message('user', 'again')] };
      const answer = (await (await host.post('/agent/process', body)).json()) as { reply: string };
      expect(answer.reply).to.equal('Echo: Hello again');
      expect((await get<{ messages: object[] }>('/chats/one')).messages).to.have.length(4);
    });

    it('doubles nothing when it is repeated', async () => {
      await run(state);
      const again = await run(state);
      expect(again.data.imported).to.include({ chats: 1, messages: 0 });
      expect(again.data.skipped).to.deep.include({
        what: 'chat',
        id: 'one',
        reason: 'it is there already, with messages',
      });
      expect((await get<{ messages: object[] }>('/chats/one')).messages).to.have.length(2);
    });

    it('gives the default chat its history, once', async () => {
      const file = {
        chats: { 'chat-default': chat('chat-default', 'of the earlier gateway') },
        histories: { 'chat-default': [message('user', 'Hello'), message('assistant', 'Hi.')] },
      };
      expect((await run(file)).data.imported).to.include({ chats: 1, messages: 2 });
      expect((await run(file)).data.imported).to.include({ chats: 0, messages: 0 });
      expect((await get<{ messages: object[] }>('/chats/chat-default')).messages).to.have.length(2);
      const body = { session_id: 'session-default', user_id: 'demo-user', input: [message('user', 'again')] };
      const answer = (await (await host.post('/agent/process', body)).json()) as { reply: string };
      expect(answer.reply).to.equal('Echo: Hello again');
    });

    it('keeps a chat with its messages in their session', async () => {
      await run(state);
      const moved = await host.fetch('/chats/one', {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...state.chats.one, session_id: 'another' }),
      });
      expect([moved.status, ((await moved.json()) as { error: { code: string } }).error.code]).to.deep.equal([
        400,
        'invalid_chat',
      ]);
    });

    it('takes over a text without parts, and lists every message and history that it leaves out', async () => {
      const { exitCode, data } = await run({
        chats: {
          one: chat('one', 's1'),
          long: { ...chat('long', 's2'), user_id: 'u'.repeat(200) },
          odd: chat('odd', 's3'),
        },
        histories: {
          one: [
            { role: 'user', content: 'Plain.' },
            { role: 'assistant', content: [], tool_calls: [{}] },
            { role: 'tool', content: 'a' },
            { role: 'tool', content: 'b' },
            { role: 'robot', content: 'c' },
            { role: 'user', content: 'd\u0000' },
          ],
          odd: 'no list',
          lost: [message('user', 'Hello')],
          empty: [],
        },
      });
      expect(exitCode).to.equal(1);
      expect(data.imported).to.include({ chats: 1, messages: 1 });
      expect(data.skipped).to.deep.equal([
        { what: 'messages', id: 'one', reason: '1 left out: without text' },
        { what: 'messages', id: 'one', reason: '2 left out: results of tools' },
        { what: 'messages', id: 'one', reason: '1 left out: the role is not user, assistant or system' },
        { what: 'messages', id: 'one', reason: '1 left out: the text has characters that cannot be stored' },
        { what: 'chat', id: 'long', reason: 'user_id must have at most 128 characters and no control characters' },
        { what: 'chat', id: 'odd', reason: 'its history must be a list' },
        { what: 'history', id: 'lost', reason: 'the file has no chat of this id' },
      ]);
      const { messages } = await get<{ messages: { content: { text: string }[] }[] }>('/chats/one');
      expect(messages.map(({ content }) => content[0]?.text)).to.deep.equal(['Plain.']);
    });

    it('takes over the active model of a file without providers', async () => {
      const active_llm = { provider_id: 'demo', model: 'demo-chat' };
      await run({ active_llm });
      expect(await get('/models/active')).to.deep.equal({ active_llm });
      await run({ active_llm: { provider_id: '', model: '' } });
      expect(await get('/models/active')).to.deep.equal({ active_llm });
    });

    it('changes nothing with a file of another version or form, or with a setting that is refused', async () => {
      for (const [content, code] of [
        [{ ...state, schema_version: 2 }, 'invalid_import_version'],
        ['{"chats":', 'invalid_json'],
        [[], 'invalid_json'],
        [{ ...state, chats: [] }, 'invalid_json'],
        [{ ...state, envs: { 'A B': '1' } }, 'invalid_env_key'],
      ] as const) {
        const error = await run(content).catch((thrown: { code?: string }) => thrown);
        expect(error).to.have.property('code', code);
      }
      expect(await get('/envs')).to.deep.equal([]);
      expect(await get('/chats?user_id=anna')).to.deep.equal([]);
    });
  });
});
