import { expect } from 'chai';
import { createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';
import { assistant, user } from './open-store.js';

interface ChatSpec {
  readonly id: string;
  readonly name: string;
  readonly created_at: string;
  readonly meta: object;
}

describe('the chats of a key that is bound to a user', () => {
  let host: TestHost;

  before(async () => {
    const keys = [
      { key: 'key-of-anna', id: 'anna', actor: 'anna' },
      { key: 'key-of-all', id: 'all' },
    ];
    host = await createTestHost({ plugins: ['sessions'], env: { MORTISE_API_KEYS: JSON.stringify(keys) } });
  });

  after(() => host.stop());

  it('are those of that user alone', async () => {
    const call = (key: string, method: string, path: string, body?: object) =>
      host.fetch(path, {
        method,
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    const chat = (user_id: string) => ({ session_id: 's', user_id, channel: 'console' });
    const saved = async (response: Promise<Response>) => ((await (await response).json()) as ChatSpec).id;
    const annas = await saved(call('key-of-anna', 'POST', '/chats', chat('anna')));
    const bens = await saved(call('key-of-all', 'POST', '/chats', chat('ben')));
    const anna = async (method: string, path: string, body?: object) =>
      (await call('key-of-anna', method, path, body)).status;

    const listed = (await (await call('key-of-anna', 'GET', '/chats')).json()) as ChatSpec[];
    expect(listed.map(({ id }) => id)).to.deep.equal([annas]);
    expect(await anna('GET', '/chats?user_id=ben')).to.equal(403);
    expect(await anna('POST', '/chats', chat('ben'))).to.equal(403);
    expect(await anna('POST', '/chats', { ...chat('anna'), id: bens })).to.equal(404);
    expect(await anna('PUT', `/chats/${bens}`, { ...chat('anna'), id: bens })).to.equal(404);
    for (const path of ['', '/turns', '/turns/turn-1']) {
      expect(await anna('GET', `/chats/${bens}${path}`), path).to.equal(404);
    }
    expect(await anna('POST', `/chats/${bens}/turns/turn-1/cancel`, {})).to.equal(404);
    expect(await anna('DELETE', `/chats/${bens}`)).to.equal(404);
    expect(await anna('POST', '/chats/batch-delete', [bens])).to.equal(200);
    expect((await call('key-of-all', 'GET', `/chats/${bens}`)).status).to.equal(200);
    expect(await anna('DELETE', `/chats/${annas}`)).to.equal(200);
  });
});

describe('the routes of chats', () => {
  eachDatabase((engine) => {
    let host: TestHost;

    before(async () => {
      host = await createTestHost({ plugins: ['sessions'], database: engine.env });
    });

    afterEach(async () => {
      const ids = (await list()).map(({ id }) => id).filter((id) => id !== 'chat-default');
      await host.post('/chats/batch-delete', ids);
    });

    after(() => host.stop());

    const valid = { session_id: 's1', user_id: 'u1', channel: 'Console' };
    const json = async <T>(response: Promise<Response>): Promise<T> => (await (await response).json()) as T;
    const list = (query = ''): Promise<ChatSpec[]> => json(host.fetch(`/chats${query}`));
    const save = (body: object): Promise<ChatSpec> => json(host.post('/chats', body));
    const put = (id: string, body: object): Promise<Response> =>
      host.fetch(`/chats/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const errorOf = async (response: Promise<Response>) => {
      const answered = await response;
      const { error } = (await answered.json()) as { error: { code: string; message: string; details?: object } };
      return [answered.status, error.code, error.message, error.details];
    };

    /** A turn with its rows, as the agent would leave it. */
    async function turn(text: string, answer: string, status: 'completed' | 'failed' = 'completed') {
      const result = await host.service('sessions').openTurn({
        session: { channel: 'console', userId: 'u1', sessionId: 's1' },
        input: [user(text)],
        correlationId: 'corr-0000000000000000',
        traceId: '0'.repeat(32),
      });
      if (result.kind !== 'open') throw new Error(result.kind);
      const events = [{ type: 'completed', step: 1, reply: answer }];
      await result.turn.close({ status, messages: [assistant(answer)], steps: 1, events });
      return result.turn;
    }

    it('create a chat with eight members, and overwrite it by its id', async () => {
      const chat = await save(valid);
      expect(Object.keys(chat)).to.deep.equal([
        'id',
        'name',
        'session_id',
        'user_id',
        'channel',
        'created_at',
        'updated_at',
        'meta',
      ]);
      expect(chat.id).to.match(/^chat-\d{19}$/);
      expect(chat).to.deep.include({ name: 'New Chat', channel: 'console', meta: {} });
      expect(chat.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      await turn('hi', 'there');
      const again = await save({ ...valid, id: chat.id, name: 'B', meta: null });
      expect(again).to.include({ id: chat.id, name: 'B', created_at: chat.created_at });
      const { messages } = await json<{ messages: object[] }>(host.fetch(`/chats/${chat.id}`));
      expect(messages).to.have.length(2);
    });

    it('report what is wrong with a chat', async () => {
      const missing = [400, 'invalid_chat', 'session_id, user_id, channel are required', undefined];
      expect(await errorOf(host.post('/chats', { name: 'x' }))).to.deep.equal(missing);
      expect(await errorOf(host.post('/chats', { ...valid, user_id: ' ' }))).to.deep.equal(missing);
      for (const body of [[], 'x', { ...valid, name: 7 }, { ...valid, meta: [] }]) {
        expect((await errorOf(host.post('/chats', body))).slice(0, 3)).to.deep.equal([
          400,
          'invalid_json',
          'invalid request body',
        ]);
      }
      expect((await errorOf(host.post('/chats', { ...valid, session_id: 's'.repeat(257) })))[1]).to.equal(
        'invalid_chat',
      );
      expect((await errorOf(host.post('/chats', { ...valid, user_id: 'a\nb' })))[1]).to.equal('invalid_chat');
      for (const member of ['user_id', 'session_id', 'channel', 'id']) {
        const refused = await errorOf(host.post('/chats', { ...valid, [member]: '\ud800' }));
        expect(refused.slice(0, 3)).to.deep.equal([400, 'invalid_chat', `${member} must not have lone surrogates`]);
      }
      const chat = await save(valid);
      expect(await errorOf(put(chat.id, { ...valid, id: 'chat-x' }))).to.deep.equal([
        400,
        'chat_id_mismatch',
        'chat_id mismatch',
        undefined,
      ]);
      expect((await errorOf(put('chat-x', { ...valid, id: 'chat-x' })))[0]).to.equal(404);
      const replaced = await put(chat.id, { ...valid, id: chat.id, name: '' });
      expect(await replaced.json()).to.include({ name: '' });
    });

    it('delete one chat or many, never the default one', async () => {
      const [one, two] = [await save(valid), await save({ ...valid, session_id: 's2' })];
      expect((await errorOf(host.post('/chats/batch-delete', ['chat-default', one.id])))[1]).to.equal(
        'default_chat_protected',
      );
      expect((await list()).map(({ id }) => id)).to.include(one.id);
      expect(await errorOf(host.fetch('/chats/chat-default', { method: 'DELETE' }))).to.deep.equal([
        400,
        'default_chat_protected',
        'default chat cannot be deleted',
        { chat_id: 'chat-default' },
      ]);
      expect(await json(host.fetch(`/chats/${one.id}`, { method: 'DELETE' }))).to.deep.equal({ deleted: true });
      const gone = [404, 'not_found', 'chat not found', { chat_id: one.id }];
      expect(await errorOf(host.fetch(`/chats/${one.id}`, { method: 'DELETE' }))).to.deep.equal(gone);
      expect(await errorOf(host.fetch(`/chats/${one.id}`))).to.deep.equal(gone);
      expect(await json(host.post('/chats/batch-delete', [two.id, 'chat-nope']))).to.deep.equal({ deleted: true });
      expect((await errorOf(host.post('/chats/batch-delete', { ids: [] })))[1]).to.equal('invalid_json');
    });

    it('list chats page by page', async () => {
      const chats: ChatSpec[] = [];
      for (const n of [1, 2, 3]) chats.push(await save({ ...valid, session_id: `s${n}` }));
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const query = cursor === null ? '' : `&cursor=${cursor}`;
        const response: Response = await host.fetch(`/chats?user_id=u1&limit=2${query}`);
        seen.push(...((await response.json()) as ChatSpec[]).map(({ id }) => id));
        cursor = response.headers.get('x-next-cursor');
      } while (cursor !== null);
      expect(seen).to.deep.equal(chats.map(({ id }) => id).reverse());
      for (const query of ['?cursor=abc', '?cursor=W10', '?limit=2&cursor=WzEuNSwiYSJd']) {
        expect((await errorOf(host.fetch(`/chats${query}`))).slice(0, 3)).to.deep.equal([
          400,
          'invalid_request',
          'invalid cursor',
        ]);
      }
      for (const query of ['?limit=0', '?limit=1001', '?limit=x']) {
        expect((await errorOf(host.fetch(`/chats${query}`)))[1], query).to.equal('invalid_request');
      }
    });

    it('show the messages of a chat page by page, and failed turns only on request', async () => {
      const { chat } = await turn('one', '1');
      await turn('broken', 'half', 'failed');
      await turn('two', '2');
      const read = async (query: string) => {
        const response = await host.fetch(`/chats/${chat.id}${query}`);
        const { messages } = (await response.json()) as {
          messages: { role: string; content: { text: string }[]; metadata?: { turn_status?: string } }[];
        };
        return {
          texts: messages.map(({ content }) => content[0]?.text),
          messages,
          next: response.headers.get('x-next-cursor'),
        };
      };
      expect((await read('')).texts).to.deep.equal(['one', '1', 'two', '2']);
      const all = await read('?include_failed=true');
      expect(all.texts).to.deep.equal(['one', '1', 'broken', 'half', 'two', '2']);
      expect(all.messages[2]?.metadata?.turn_status).to.equal('failed');
      const newest = await read('?limit=3');
      expect(newest.texts).to.deep.equal(['1', 'two', '2']);
      const older = await read(`?limit=3&cursor=${newest.next}`);
      expect([older.texts, older.next]).to.deep.equal([['one'], null]);
    });

    it('show turns, newest first, and one with its events', async () => {
      const first = await turn('one', '1');
      const second = await turn('two', '2', 'failed');
      const path = `/chats/${first.chat.id}/turns`;
      const turns = await json<{ turn_id: string; status: string }[]>(host.fetch(path));
      expect(turns.map(({ turn_id }) => turn_id)).to.deep.equal([second.turnId, first.turnId]);
      expect(turns[1]).to.deep.include({
        status: 'completed',
        input: [{ role: 'user', content: 'one' }],
        reply: '1',
        error: null,
        prompt_mode: 'default',
      });
      expect(await json<object[]>(host.fetch(`${path}?status=failed`))).to.have.length(1);
      expect((await errorOf(host.fetch(`${path}?status=lost`)))[1]).to.equal('invalid_request');
      const page = await host.fetch(`${path}?limit=1`);
      const next = await json<{ turn_id: string }[]>(
        host.fetch(`${path}?limit=1&cursor=${page.headers.get('x-next-cursor')}`),
      );
      expect(next[0]?.turn_id).to.equal(first.turnId);
      expect(await json(host.fetch(`${path}/${first.turnId}`))).to.deep.include({
        turn_id: first.turnId,
        events: [{ type: 'completed', step: 1, reply: '1' }],
      });
      expect((await errorOf(host.fetch(`${path}/turn-x`)))[2]).to.equal('turn not found');
      expect((await errorOf(host.fetch('/chats/chat-x/turns')))[2]).to.equal('chat not found');
      expect(await json(host.post(`${path}/${first.turnId}/cancel`, {}))).to.deep.equal({ cancelled: false });
    });
  });
});
