import { expect } from 'chai';
import type { HistoryLimit, NewMessage } from 'mortise/contracts/sessions';
import type { Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine } from 'mortise/sdk/testing';
import { ask, assistant, codeOf, opened, openSessions, turnRequest, user } from './open-store.js';

/** Each row counts one. */
const rows = (budget: number): HistoryLimit => ({ budget, sizeOf: () => 1 });
const everything = rows(Number.POSITIVE_INFINITY);
const texts = (messages: readonly NewMessage[]) => messages.map(({ content }) => content);

/** A store that counts the messages it reads. */
async function countingSessions(engine: TestEngine) {
  const { store } = await openSessions(engine);
  let read = 0;
  const database = new Proxy(store.database, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name !== 'statement') return typeof member === 'function' ? member.bind(target) : member;
      return async (...args: Parameters<Database['statement']>) => {
        const result = await target.statement(...args);
        if (/select \* from \{realtime\.messages\}/.test(args[0])) read += result.rows.length;
        return result;
      };
    },
  });
  return { ...(await openSessions(engine, { database })), read: () => read };
}

eachDatabase((engine) => {
  describe('the recent history of a chat', () => {
    it('is all of a short chat, without turns that have no answer', async () => {
      const { service } = await openSessions(engine);
      await ask(service, 'one', '1');
      await (await opened(service, turnRequest('two'))).close({ status: 'failed', steps: 1 });
      const turn = await opened(service, turnRequest('three'));
      const { messages, ...rest } = await turn.recentHistory(rows(1));
      expect(texts(messages)).to.deep.equal(['one', '1', 'three']);
      expect(rest).to.deep.equal({ summary: undefined, omitted: 0 });
      expect(messages).to.deep.equal(await turn.history());
    });

    it('is read from the newest back, in whole turns, until the budget is used up', async () => {
      const { service, read } = await countingSessions(engine);
      for (let n = 0; n < 100; n += 1) await ask(service, `q${n}`, `a${n}`);
      const turn = await opened(service, turnRequest('now'));
      const { messages, omitted } = await turn.recentHistory(rows(20));
      expect(read()).to.equal(64);
      // The oldest row read is an answer whose question was not read.
      expect(texts(messages)).to.deep.equal(
        [...Array(31).keys()].flatMap((n) => [`q${n + 69}`, `a${n + 69}`]).concat('now'),
      );
      expect(omitted).to.equal(69);
      expect(texts((await turn.recentHistory(everything)).messages)).to.have.length(201);
    });

    it('has two whole turns, however small the budget', async () => {
      const { service } = await openSessions(engine);
      for (const name of ['a', 'b', 'c']) {
        const turn = await opened(service, turnRequest(name));
        for (let n = 0; n < 40; n += 1) await turn.append([assistant(`${name}${n}`), user('more')]);
        await turn.close({ status: 'completed', messages: [assistant(`end of ${name}`)], steps: 1 });
      }
      const turn = await opened(service, turnRequest('now'));
      const { messages, omitted } = await turn.recentHistory(rows(0));
      expect(texts(messages).filter((text) => text.startsWith('end'))).to.deep.equal(['end of b', 'end of c']);
      expect([messages[0]?.content, omitted]).to.deep.equal(['b', 1]);
    });

    it('begins after the stored summary, whose rows are not read', async () => {
      const { service, read } = await countingSessions(engine);
      for (let n = 0; n < 100; n += 1) await ask(service, `q${n}`, `a${n}`);
      const first = await opened(service, turnRequest('summarise'));
      const [through] = (await first.history()).slice(195);
      await first.storeSummary({ text: 'Ninety-eight questions.', throughSeq: through?.seq ?? 0 });
      await first.close({ status: 'completed', messages: [assistant('done')], steps: 1 });
      const before = read();
      const turn = await opened(service, turnRequest('now'));
      const { messages, summary, omitted } = await turn.recentHistory(everything);
      expect(read() - before).to.equal(7);
      expect(texts(messages)).to.deep.equal(['q98', 'a98', 'q99', 'a99', 'summarise', 'done', 'now']);
      expect([summary, omitted]).to.deep.equal(['Ninety-eight questions.', 0]);
    });

    it('begins after the summary that a turn left with its end, unless the end was not stored', async () => {
      const { service, store } = await openSessions(engine);
      await ask(service, 'one', '1');
      const summarising = async () => {
        const turn = await opened(service, turnRequest('summarise'));
        const first = (await turn.history()).find(({ turnId }) => turnId === turn.turnId);
        return { turn, summary: { text: 'One question.', throughSeq: (first?.seq ?? 0) - 1 } };
      };
      const lost = await summarising();
      await store.database.statement("update {realtime.sessions} set lock_token = 'other' where id = ?", [
        lost.turn.sessionKey,
      ]);
      const end = { status: 'completed', messages: [assistant('done')], steps: 1 } as const;
      expect(await codeOf(lost.turn.close({ ...end, summary: lost.summary }))).to.equal('session_fenced');
      await store.database.statement('update {realtime.sessions} set lock_token = null where id = ?', [
        lost.turn.sessionKey,
      ]);
      const { turn, summary } = await summarising();
      expect((await turn.recentHistory(everything)).summary).to.equal(undefined);
      await turn.close({ ...end, summary });
      const next = await opened(service, turnRequest('now'));
      const { messages, summary: stored } = await next.recentHistory(everything);
      expect(stored).to.equal('One question.');
      expect(texts(messages)).to.deep.equal(['summarise', 'done', 'now']);
    });

    it('gets no summary of a turn that lost its session', async () => {
      const { service, store } = await openSessions(engine);
      const turn = await opened(service);
      await store.database.statement("update {realtime.sessions} set lock_token = 'other' where id = ?", [
        turn.sessionKey,
      ]);
      expect(await codeOf(turn.storeSummary({ text: 'x', throughSeq: 0 }))).to.equal('session_fenced');
    });
  });

  if (engine.dialect === 'sqlite') {
    it('a row whose stored JSON cannot be read is a plain text, and its session goes on', async () => {
      const { service, store } = await openSessions(engine);
      const { chat } = await ask(service, 'one', '1');
      for (const parts of ['5', '[null]', '["one"]', '{"type": "text"}', '{']) {
        const damage = "update {realtime.messages} set tool_calls = '[{', meta = 'x', parts = ?";
        await store.database.statement(damage, [parts]);
        const { messages } = await service.display({ chatId: chat.id });
        expect(
          messages.map(({ parts: read }) => read),
          parts,
        ).to.deep.equal([undefined, undefined]);
      }
      const turn = await opened(service, turnRequest('two'));
      expect(service.modelMessages(await turn.history())).to.deep.equal([
        { role: 'user', content: 'one' },
        { role: 'assistant', content: '1' },
        { role: 'user', content: 'two' },
      ]);
      await turn.close({ status: 'completed', messages: [assistant('2')], steps: 1 });
      const { messages } = await service.display({ chatId: turn.chat.id });
      expect(texts(messages)).to.deep.equal(['one', '1', 'two', '2']);
    });
  }
});
