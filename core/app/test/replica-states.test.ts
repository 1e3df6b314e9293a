import { expect } from 'chai';
import { eachDatabase, silentLog, until } from 'mortise/sdk/testing';
import { EventBus } from '../../kernel/event-bus.js';
import type { Database } from '../../sdk/host/database.js';
import type { PluginStateName } from '../../sdk/plugin-state.js';
import { pluginsSchema, sharedMigrations } from '../desired-state.js';
import { type ReplicaStates, shareStates } from '../replicas.js';

type Report = (plugin: string, from: PluginStateName, to: PluginStateName) => void;

describe('the states that replicas exchange', () => {
  eachDatabase((engine) => {
    let replica: ReplicaStates | undefined;
    afterEach(async () => {
      await replica?.dispose();
    });

    /** A replica; `before` is called whenever a state is to be written. */
    async function reportStates(before: (report: Report) => void): Promise<Report> {
      const database = await engine.open('app', [pluginsSchema]);
      await database.migrate(sharedMigrations);
      const events = new EventBus(() => undefined);
      const report: Report = (key, from, to) =>
        events.emit('plugin-state', { key, from, to, code: null, at: Date.now() });
      const statement = ((sql: string, params: readonly unknown[] = []) => {
        if (sql.startsWith('insert')) before(report);
        return database.statement(sql, params as never);
      }) as Database['statement'];
      const instances = { id: 'me', list: async () => [{ id: 'me', host: '', pid: 1, startedAt: '', alive: true }] };
      replica = shareStates({ events }, { statement, codec: database.codec }, instances, silentLog, 5);
      return report;
    }

    const states = (plugin: string) => replica?.of(plugin).map(({ state }) => state);

    it('end with the newest state, even if it changes during a write', async () => {
      let writes = 0;
      const report = await reportStates((reportMeanwhile) => {
        writes += 1;
        if (writes > 1) return;
        reportMeanwhile('first', 'starting', 'active');
        reportMeanwhile('second', 'starting', 'active');
      });
      report('first', 'checking', 'starting');
      report('second', 'checking', 'starting');
      report('third', 'checking', 'starting');
      await until('the third is reported', () => states('third')?.[0] === 'starting');
      await until(
        'the newest are reported',
        () => states('first')?.[0] === 'active' && states('second')?.[0] === 'active',
      );
      expect([states('first'), states('second'), states('third')]).to.deep.equal([
        ['active'],
        ['active'],
        ['starting'],
      ]);
    });

    it('are written again after the database refused them', async () => {
      let failures = 3;
      const report = await reportStates(() => {
        if (failures > 0) {
          failures -= 1;
          throw new Error('gone');
        }
      });
      report('only', 'starting', 'active');
      await until('it is reported', () => states('only')?.[0] === 'active');
    });
  });
});
