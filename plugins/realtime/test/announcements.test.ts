import { expect } from 'chai';
import { eachDatabase, silentLog, until } from 'mortise/sdk/testing';
import { Announcements } from '../announcements.js';
import { type Reply, Watchers } from '../pushes.js';

const session = { channel: 'ws', userId: 'local', sessionId: 's' };

function reply(n: number, text = `reply ${n}`): Reply {
  return { kind: 'message', sessionKey: 'ws:local:s', turnId: `turn-${n}`, obsId: `obs-${n}`, traceId: 't', text };
}

describe('announcements between processes on one database', () => {
  eachDatabase((engine) => {
    if (engine.dialect !== 'postgres') return;

    /** A process with one socket that watches the session. */
    async function openProcess() {
      const database = (await engine.openHost()).forPlugin('realtime', []);
      let notifications = 0;
      const counted = {
        dialect: database.dialect,
        listen: database.listen.bind(database),
        notify: (channel: string, payload: string) => {
          notifications += 1;
          return database.notify(channel, payload);
        },
      };
      const watchers = new Watchers();
      const pushed: string[] = [];
      const watcher = {
        requested: () => false,
        send: (_: string, frame: object) => pushed.push((frame as { data: { content: string } }).data.content),
      };
      watchers.add('ws:local:s', watcher, { id: 'watch', session });
      const sessions = { getTurn: async (turnId: string) => ({ reply: `stored ${turnId}` }) as never };
      const announcements = new Announcements({ database: counted, watchers, sessions, log: silentLog });
      await announcements.listen();
      return { announcements, pushed, notifications: () => notifications };
    }

    it('arrive once and in order, several in one notification, and texts that are too long are read', async () => {
      const [a, b] = [await openProcess(), await openProcess()];
      const texts = Array.from({ length: 400 }, (_, n) => (n % 100 === 99 ? 'x'.repeat(6_000) : `reply ${n}`));
      await Promise.all(texts.map((text, n) => a.announcements.announce(reply(n, text))));
      await until('all of them', () => b.pushed.length >= texts.length);
      expect(a.pushed).to.deep.equal(texts);
      expect(b.pushed).to.deep.equal(texts.map((text, n) => (text.length > 5_000 ? `stored turn-${n}` : text)));
      expect(a.notifications()).to.be.within(2, 40);
      await Promise.all([a.announcements.dispose(), b.announcements.dispose()]);
    });

    it('are sent before a process ends', async () => {
      const [a, b] = [await openProcess(), await openProcess()];
      for (let n = 0; n < 3; n += 1) await a.announcements.announce(reply(n));
      await a.announcements.dispose();
      await until('the last of them', () => b.pushed.length === 3);
      await b.announcements.dispose();
    });
  });
});
