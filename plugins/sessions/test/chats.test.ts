import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { defaultChat, ensureDefaultChat } from '../chats.js';
import { ask, assistant, codeOf, opened, openSessions, s1, turnRequest } from './open-store.js';

describe('chats', () => {
  eachDatabase((engine) => {
    it('creates the default chat once, at the start', async () => {
      const { service, store } = await openSessions(engine);
      await ensureDefaultChat(store);
      await ensureDefaultChat(store);
      const chats = await service.listChats();
      expect(chats).to.have.length(1);
      expect(chats[0]).to.deep.include({ id: 'chat-default', name: 'Default Chat', meta: { system_default: true } });
      expect((await service.currentChat(defaultChat.session))?.id).to.equal('chat-default');
    });

    it('protects the identity of the default chat from every write', async () => {
      const { service, store } = await openSessions(engine);
      await ensureDefaultChat(store);
      const saved = await service.saveChat({
        id: 'chat-default',
        name: 'mine',
        session: s1,
        meta: { system_default: false, colour: 'red' },
      });
      expect(saved).to.deep.include({
        name: 'Default Chat',
        session: defaultChat.session,
        meta: { system_default: true, colour: 'red' },
      });
    });

    it('makes a saved chat the current one of its session', async () => {
      const { service } = await openSessions(engine);
      const first = await service.saveChat({ session: s1 });
      const second = await service.saveChat({ session: s1, name: 'B', meta: { a: 1 } });
      expect(first.id).to.match(/^chat-\d{19}$/);
      expect((await service.currentChat(s1))?.id).to.equal(second.id);
      const again = await service.saveChat({ id: first.id, session: s1, name: 'A' });
      expect(again).to.include({ id: first.id, name: 'A', createdAt: first.createdAt });
      expect((await service.currentChat(s1))?.id).to.equal(first.id);
    });

    it('keeps a chat that has messages in its session', async () => {
      const { service } = await openSessions(engine);
      const empty = await service.saveChat({ session: s1 });
      const moved = await service.saveChat({ id: empty.id, session: { ...s1, sessionId: 's2' } });
      expect(moved.session.sessionId).to.equal('s2');
      expect(await service.currentChat(s1)).to.equal(undefined);
      const turn = await ask(service, 'hi', 'there');
      expect(await codeOf(service.saveChat({ id: turn.chat.id, session: { ...s1, sessionId: 's3' } }))).to.equal(
        'invalid_chat',
      );
      expect((await service.getChat(turn.chat.id))?.session).to.deep.equal(s1);
    });

    it('lists chats by user and channel, newest first', async () => {
      const { service } = await openSessions(engine);
      const one = await service.saveChat({ session: s1 });
      const two = await service.saveChat({ session: { ...s1, channel: 'ws' } });
      const three = await service.saveChat({ session: { ...s1, userId: 'u2' } });
      expect((await service.listChats()).map(({ id }) => id)).to.deep.equal([three.id, two.id, one.id]);
      expect((await service.listChats({ userId: 'u1', channel: 'ws' })).map(({ id }) => id)).to.deep.equal([two.id]);
    });

    it('deletes a chat with its rows and makes the newest other one current', async () => {
      const { service } = await openSessions(engine);
      const older = await service.saveChat({ session: s1, name: 'older' });
      const newer = await service.saveChat({ session: s1, name: 'newer' });
      const turn = await ask(service, 'hi', 'there');
      expect(turn.chat.id).to.equal(newer.id);
      expect(await service.deleteChats([newer.id, 'chat-unknown'])).to.equal(1);
      expect(await service.getTurn(turn.turnId)).to.equal(undefined);
      expect((await service.display({ chatId: newer.id })).messages).to.deep.equal([]);
      expect((await service.currentChat(s1))?.id).to.equal(older.id);
      expect(await service.deleteChats([older.id])).to.equal(1);
      expect(await service.currentChat(s1)).to.equal(undefined);
    });

    it('protects the default chat, and then deletes nothing of the batch', async () => {
      const { service, store } = await openSessions(engine);
      await ensureDefaultChat(store);
      const chat = await service.saveChat({ session: s1 });
      expect(await codeOf(service.deleteChats([chat.id, 'chat-default']))).to.equal('default_chat_protected');
      expect(await service.getChat(chat.id)).to.not.equal(undefined);
    });

    it('ends the running turn of a chat before it is deleted', async () => {
      const { service } = await openSessions(engine);
      const turn = await opened(service);
      turn.signal.addEventListener('abort', () => void turn.close({ status: 'cancelled', steps: 1 }));
      expect(await service.deleteChats([turn.chat.id])).to.equal(1);
      expect(turn.signal.reason).to.include({ code: 'turn_cancelled' });
    });

    it('fences a turn that does not end before its chat is deleted', async () => {
      const { service } = await openSessions(engine);
      const turn = await opened(service);
      expect(await service.deleteChats([turn.chat.id])).to.equal(1);
      expect(await codeOf(turn.append([assistant('late')]))).to.equal('session_fenced');
      expect(await codeOf(turn.close({ status: 'completed', messages: [assistant('late')], steps: 1 }))).to.equal(
        'session_fenced',
      );
      expect((await opened(service, turnRequest('next'))).chat.id).to.not.equal(turn.chat.id);
    });

    it('starts a new chat with continued numbers, and recreates the default chat', async () => {
      const { service, store } = await openSessions(engine);
      await service.saveChat({ session: s1, name: 'another' });
      await service.saveChat({ session: s1 });
      const before = await ask(service, 'hi', 'there');
      await service.startAnew(s1);
      expect(await service.currentChat(s1)).to.equal(undefined);
      const after = await opened(service, turnRequest('x'));
      expect(after.chat.id).to.not.equal(before.chat.id);
      expect((await after.history()).map(({ content, seq }) => [content, seq])).to.deep.equal([['x', 2]]);

      await ensureDefaultChat(store);
      await ask(service, 'elsewhere', 'x').catch(() => undefined);
      const turn = await opened(service, turnRequest('hi', { session: defaultChat.session }));
      await turn.close({ status: 'completed', messages: [assistant('there')], steps: 1 });
      await service.startAnew(defaultChat.session);
      expect((await service.currentChat(defaultChat.session))?.id).to.equal('chat-default');
      expect((await service.display({ chatId: 'chat-default' })).messages).to.deep.equal([]);
    });

    it('merges and removes members of the meta, also in concurrent patches', async () => {
      const { service } = await openSessions(engine);
      const chat = await service.saveChat({ session: s1, meta: { keep: 1, drop: 2 } });
      await service.patchChatMeta(chat.id, { drop: undefined });
      await Promise.all(Array.from({ length: 8 }, (_, n) => service.patchChatMeta(chat.id, { [`m${n}`]: n })));
      const meta = (await service.getChat(chat.id))?.meta ?? {};
      expect(Object.keys(meta)).to.have.length(9);
      expect(meta).to.not.have.property('drop');
      expect(await service.patchChatMeta('chat-unknown', { a: 1 })).to.equal(false);
    });

    it('pages through the messages of a session', async () => {
      const { service } = await openSessions(engine);
      for (const n of [1, 2, 3]) await ask(service, `q${n}`, `a${n}`);
      const newest = await service.display({ session: s1 }, { limit: 4 });
      expect(newest.messages.map(({ content }) => content)).to.deep.equal(['q2', 'a2', 'q3', 'a3']);
      const older = await service.display({ session: s1 }, { limit: 4, beforeSeq: newest.before ?? 0 });
      expect(older.messages.map(({ content }) => content)).to.deep.equal(['q1', 'a1']);
      expect(older.before).to.equal(null);
    });
  });
});
