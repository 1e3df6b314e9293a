import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { until } from '../../sdk/testing/until.js';
import { errorOf } from './expect-error.js';

describe('notifications', () => {
  eachDatabase((engine) => {
    it('reach the listeners of this process, until they are disposed', async () => {
      const database = await engine.open('bell', ['bell']);
      const heard: string[] = [];
      const first = await database.listen('ring', (payload) => heard.push(`first ${payload}`));
      await database.listen('ring', () => {
        throw new Error('a listener that fails');
      });
      const second = await database.listen('ring', (payload) => heard.push(`second ${payload}`));
      await database.notify('ring', 'one\ntwo');
      await until('both heard', () => heard.length === 2);
      expect(heard).to.deep.equal(['first one\ntwo', 'second one\ntwo']);
      await first.dispose();
      await database.notify('ring', '');
      await until('one heard', () => heard.length === 3);
      expect(heard[2]).to.equal('second ');
      await second.dispose();
    });

    it('belong to a plugin and a channel', async () => {
      const [bell, gong] = [await engine.open('bell', []), await engine.open('gong', [])];
      const heard: string[] = [];
      const listeners = [
        await bell.listen('ring', (payload) => heard.push(`bell ${payload}`)),
        await gong.listen('ring', (payload) => heard.push(`gong ${payload}`)),
        await bell.listen('last', (payload) => heard.push(`last ${payload}`)),
      ];
      await gong.notify('ring', '1');
      await bell.notify('last', '2');
      await until('the last is heard', () => heard.length > 1);
      expect(heard).to.deep.equal(['gong 1', 'last 2']);
      for (const listener of listeners) await listener.dispose();
    });

    it('in a transaction are sent only with its commit', async () => {
      const database = await engine.open('bell', ['bell']);
      const heard: string[] = [];
      const listener = await database.listen('ring', (payload) => heard.push(payload));
      await errorOf(
        database.transaction(async (trx) => {
          await database.notify('ring', 'undone', { trx });
          throw new Error('undo');
        }),
      );
      await database.transaction(async (trx) => {
        await database.notify('ring', 'done', { trx });
        expect(heard).to.deep.equal([]);
      });
      await until('the commit is heard', () => heard.length > 0);
      expect(heard).to.deep.equal(['done']);
      await listener.dispose();
    });

    it('are delivered outside of any transaction', async () => {
      const database = await engine.open('bell', ['bell']);
      const outcomes: unknown[] = [];
      const listener = await database.listen('ring', () => {
        database.statement('select 1 as one').then(
          () => outcomes.push('asked'),
          (error: unknown) => outcomes.push(error),
        );
      });
      await database.transaction((trx) => database.notify('ring', 'x', { trx }));
      await until('the listener asked', () => outcomes.length > 0);
      expect(outcomes).to.deep.equal(['asked']);
      await listener.dispose();
    });

    // SQLite has no server that could deliver them to other processes.
    const itOnPostgres = engine.dialect === 'postgres' ? it : () => {};
    itOnPostgres('reach other processes', async () => {
      const [near, far] = [await engine.openHost(), await engine.openHost()];
      const heard: string[] = [];
      await far.forPlugin('bell', []).listen('ring', (payload) => heard.push(payload));
      await near.forPlugin('bell', []).notify('ring', 'over');
      await until('the other host hears', () => heard.length > 0);
      expect(heard).to.deep.equal(['over']);
    });

    itOnPostgres('that arrive during the transaction in which their listener began are not part of it', async () => {
      const near = (await engine.openHost()).forPlugin('bell', []);
      const far = (await engine.openHost()).forPlugin('bell', []);
      const outcomes: unknown[] = [];
      await near.transaction(async () => {
        await near.listen('ring', () => {
          near.statement('select 1 as one').then(
            () => outcomes.push('asked'),
            (error: unknown) => outcomes.push(error),
          );
        });
        await far.notify('ring', 'x');
        await until('the listener asked', () => outcomes.length > 0);
      });
      expect(outcomes).to.deep.equal(['asked']);
    });

    itOnPostgres('are listened for again after a lost connection, with a note that some may be missing', async () => {
      const database = (await engine.openHost()).forPlugin('bell', []);
      const heard: string[] = [];
      await database.listen('ring', (payload) => heard.push(payload), { missed: () => heard.push('missed') });
      await database.statement(
        `select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen mortise' and datname = current_database()`,
      );
      await until('the connection is back', () => heard.includes('missed'));
      await database.notify('ring', 'again');
      await until('it hears again', () => heard.includes('again'));
    });

    it('refuse payloads and channels that are too long', async () => {
      const database = await engine.open('bell', ['bell']);
      for (const [channel, payload] of [
        ['ring', 'x'.repeat(7_001)],
        ['ring', 'a\0b'],
        ['', 'x'],
        ['two words', 'x'],
      ] as const) {
        expect(await errorOf(database.notify(channel, payload))).to.include({ code: 'notification_invalid' });
      }
      await database.notify('ring', 'x'.repeat(7_000));
    });
  });
});
