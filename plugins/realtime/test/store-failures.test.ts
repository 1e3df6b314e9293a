import { expect } from 'chai';
import { asksFor, fakeModel, fakeTool, inTurn, says } from 'mortise/contracts/agent/testing';
import { kinds, textOf } from 'mortise/contracts/realtime/testing';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { openPlatform, type Platform } from './platform.js';

describe('a turn of the socket whose store fails', () => {
  eachDatabase((engine) => {
    let platform: Platform;

    afterEach(async function stop() {
      await platform?.stop();
    });

    /** Takes a table away, or brings it back. */
    async function hide(name: 'messages' | 'turns', hidden: boolean): Promise<void> {
      const { tables } = platform;
      const table = tables.table(`realtime.${name}`);
      const away = table.replace(name, `hidden_${name}`);
      const [from, to] = hidden ? [table, away] : [away, table];
      await tables.statement(`alter table ${from} rename to ${to.replace(/^realtime\./, '')}`);
    }

    async function nextSeq(): Promise<number> {
      const { rows } = await platform.tables.statement<{ next_seq: number }>(
        "select next_seq from {realtime.sessions} where channel = 'ws'",
      );
      return rows[0]?.next_seq ?? 0;
    }

    it('at its start reports it, writes nothing, and leaves the session free', async () => {
      const model = fakeModel(() => says('ok'));
      platform = await openPlatform(engine, { model });
      const client = await platform.connect();
      await client.ask('chat.send', { content: 'first' });
      await hide('messages', true);
      const [failed] = await client.ask('chat.send', { content: 'second' });
      expect(failed?.error).to.include({ code: 'INTERNAL_ERROR', message: 'An internal error occurred' });
      expect(failed?.error?.details).to.equal(undefined);
      await hide('messages', false);
      expect(model.requests).to.have.length(1);
      expect(await nextSeq()).to.equal(2);
      expect(kinds(await client.ask('chat.send', { content: 'third' }))).to.deep.equal(['stream_chunk', 'done']);
      expect((await platform.rows()).map(({ content }) => content)).to.deep.equal(['first', 'ok', 'third', 'ok']);
      const logged = platform.host.logs.filter((line) => line.includes('second') || line.includes('insert into'));
      expect(logged).to.deep.equal([]);
    });

    /** A turn whose tool takes a table away; the next one is answered `again`. */
    function breaking(name: 'messages' | 'turns') {
      const model = fakeModel(
        inTurn(
          () => asksFor([['call_1', 'break_store', '{}']], 'Let me see. '),
          ...(name === 'turns' ? [() => says('lost')] : []),
          () => says('again'),
        ),
      );
      const breakStore = fakeTool('break_store', async () => {
        await hide(name, true);
        return { broken: true };
      });
      // Of the last turn less than the 1.25 s for which a commit is retried.
      const env = { MORTISE_SESSION_CLAIM_TTL_SECONDS: name === 'turns' ? '1' : '30' };
      return { model, extra: [breakStore], env };
    }

    it('in its middle reports it after the text so far, keeps whole rows, and releases the session', async () => {
      platform = await openPlatform(engine, breaking('messages'));
      const client = await platform.connect();
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'tool_call', 'INTERNAL_ERROR']);
      await hide('messages', false);
      expect(await nextSeq()).to.equal(2);
      expect(textOf(await client.ask('chat.send', { content: 'on' }))).to.equal('again');
      expect((await platform.rows()).map(({ seq, role, turnStatus }) => [seq, role, turnStatus])).to.deep.equal([
        [0, 'user', 'failed'],
        [1, 'assistant', 'failed'],
        [2, 'user', 'completed'],
        [3, 'assistant', 'completed'],
      ]);
    });

    it('at its end is tried until the lease ends, and is interrupted by the next owner', async () => {
      platform = await openPlatform(engine, breaking('turns'));
      const client = await platform.connect();
      const frames = await client.ask('chat.send', { content: 'go' });
      expect(kinds(frames)).to.deep.equal(['stream_chunk', 'tool_call', 'stream_chunk', 'SESSION_FENCED']);
      await hide('turns', false);
      expect(await nextSeq()).to.equal(3);
      let next = await client.ask('chat.send', { content: 'on' });
      await until('the lease to run out', async () => {
        if (kinds(next)[0] !== 'SESSION_BUSY') return true;
        next = await client.ask('chat.send', { content: 'on' });
        return false;
      });
      expect(textOf(next)).to.equal('again');
      expect((await platform.rows()).map(({ seq, role, turnStatus }) => [seq, role, turnStatus])).to.deep.equal([
        [0, 'user', 'interrupted'],
        [1, 'assistant', 'interrupted'],
        [2, 'tool', 'interrupted'],
        [3, 'user', 'completed'],
        [4, 'assistant', 'completed'],
      ]);
    });
  });
});
