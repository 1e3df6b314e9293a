import type { SessionRef } from 'mortise/contracts/sessions';
import { createTestDatabase, createTestHost } from '../../../core/sdk/testing/index.js';
import { type CpuRow, measured } from './figures.js';
import type { Dialect } from './server.js';

const appends = 5_000;

/** Cost of a fenced row in the store alone, in one session and over fifty, measured in this process. */
export async function appendRows(dialect: Dialect): Promise<readonly CpuRow[]> {
  const database = dialect === 'postgres' ? await createTestDatabase('postgres') : undefined;
  const host = await createTestHost({
    plugins: ['sessions'],
    listen: false,
    ...(database ? { database: database.env } : {}),
    env: { MORTISE_LOG_LEVEL: 'error' },
  });
  const sessions = host.service('sessions');
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  const write = async (count: number, each: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, async (_, n) => {
        const session: SessionRef = { channel: 'console', userId: 'bench', sessionId: `append-${count}-${n}` };
        await sessions.withLease(session, async (lease) => {
          for (let row = 0; row < each; row += 1) await lease.append([{ role: 'user', content: 'a row' }]);
        });
      }),
    );
  };
  try {
    await write(10, 100);
    const rows: CpuRow[] = [];
    for (const count of [1, 50]) {
      const name = count === 1 ? 'rows appended in one session' : `rows appended over ${count} sessions`;
      rows.push(await measured(name, appends, { cpuMs, dialect }, () => write(count, appends / count)));
    }
    return rows;
  } finally {
    await host.stop();
    await database?.drop();
  }
}
