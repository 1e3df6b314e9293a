import type { Database } from 'mortise/sdk';
import { createTestHost, databaseProbe, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';
import type { Storage } from '../storage.js';
import { createSubscriptions } from '../subscriptions.js';
import { createTasks } from '../tasks/tasks.js';
import { silentLog } from './support.js';

describe('the end of an MCP task', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    let database: Database;
    before(async () => {
      const probe = databaseProbe(['logbook']);
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin], database: engine.env });
      database = probe.database;
    });
    after(() => host.stop());

    /** Starts a task that ends when `end` is called; the next `failures` database calls after that fail. */
    const start = async (failures: number) => {
      let left = 0;
      const storage: Storage = {
        database: async () => database,
        withDatabase(work) {
          if (left === 0) return work(database);
          left -= 1;
          return Promise.reject(new Error('The connection was closed.'));
        },
        explain: (error) => error,
      };
      const tasks = createTasks({
        storage,
        replicas: {
          notify: async () => {},
          on: () => ({ dispose: () => {} }),
          listen: async () => ({ dispose: () => {} }),
        },
        subscriptions: createSubscriptions(),
        instances: { id: 'process-a', isAlive: async () => true } as never,
        log: silentLog,
        now: () => Date.now(),
      });
      const { promise, resolve } = Promise.withResolvers<void>();
      const { taskId } = await tasks.start({
        principal: 'local',
        correlationId: 'corr-1',
        tool: 'job',
        run: () => ({
          end: promise.then(() => ({ status: 'completed', result: '{"content":[]}' })),
          cancel: () => {},
          answer: () => {},
          stop: async () => ({ status: 'failed' }),
        }),
      });
      const end = () => {
        left = failures;
        resolve();
      };
      const status = async () =>
        (
          await database.statement<{ status: string }>('select status from {logbook.mcp_tasks} where id = ?', [
            String(taskId),
          ])
        ).rows[0]?.status;
      return { tasks, end, status, failed: () => left === 0 };
    };

    it('is stored by another attempt when the first one fails', async () => {
      const { end, status } = await start(1);
      end();
      await until('the end is stored', async () => (await status()) === 'completed');
    });

    it('is stored later when the database fails for longer', async () => {
      const { tasks, end, status, failed } = await start(4);
      end();
      await until('all attempts have failed', failed);
      await until('the end is stored', async () => {
        await tasks.sweep();
        return (await status()) === 'completed';
      });
    });
  });
});
