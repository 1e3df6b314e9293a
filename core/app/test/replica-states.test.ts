import { expect } from 'chai';
import { eachDatabase, silentLog, until } from 'mortise/sdk/testing';
import { EventBus } from '../../kernel/event-bus.js';
import type { PluginStateName } from '../../sdk/events.js';
import type { Database } from '../../sdk/host/database.js';
import { pluginsSchema, sharedMigrations } from '../desired-state.js';
import { type ReplicaStates, shareStates } from '../replicas.js';

type Tell = (plugin: string, from: PluginStateName, to: PluginStateName) => void;

describe('the states that replicas exchange', () => {
  eachDatabase((engine) => {
    let replica: ReplicaStates | undefined;
    afterEach(async () => {
      await replica?.dispose();
    });

    /** A replica; `before` is called whenever a state is to be written. */
    async function tellStates(before: (tell: Tell) => void): Promise<Tell> {
      const database = await engine.open('app', [pluginsSchema]);
      await database.migrate(sharedMigrations);
      const events = new EventBus(() => undefined);
      const tell: Tell = (key, from, to) => events.emit('plugin-state', { key, from, to, code: null, at: Date.now() });
      const statement = ((sql: string, params: readonly unknown[] = []) => {
        if (sql.startsWith('insert')) before(tell);
        return database.statement(sql, params as never);
      }) as Database['statement'];
      const instances = { id: 'me', list: async () => [{ id: 'me', host: '', pid: 1, startedAt: '', alive: true }] };
      replica = shareStates({ events }, { statement, codec: database.codec }, instances, silentLog, 5);
      return tell;
    }

    const states = (plugin: string) => replica?.of(plugin).map(({ state }) => state);

    it('end with the newest, also when one changes while another is written', async () => {
      let writes = 0;
      const tell = await tellStates((tellMeanwhile) => {
        writes += 1;
        if (writes > 1) return;
        tellMeanwhile('first', 'starting', 'active');
        tellMeanwhile('second', 'starting', 'active');
      });
      tell('first', 'checking', 'starting');
      tell('second', 'checking', 'starting');
      tell('third', 'checking', 'starting');
      await until('the third is told', () => states('third')?.[0] === 'starting');
      await until('the newest are told', () => states('first')?.[0] === 'active' && states('second')?.[0] === 'active');
      expect([states('first'), states('second'), states('third')]).to.deep.equal([
        ['active'],
        ['active'],
        ['starting'],
      ]);
    });

    it('are written again when the database refused them', async () => {
      let failures = 3;
      const tell = await tellStates(() => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('gone');
        }
      });
      tell('only', 'starting', 'active');
      await until('it is told', () => states('only')?.[0] === 'active');
    });
  });
});
