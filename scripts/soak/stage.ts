import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionRef } from 'mortise/contracts/sessions';
import type { Database } from '../../core/sdk/index.js';
import {
  createTestDatabase,
  createTestHost,
  openDatabase,
  silentLog,
  type TestHost,
  temporaryPath,
} from '../../core/sdk/testing/index.js';

type Dialect = 'sqlite' | 'postgres';

/** A database shared by several processes, and direct access to its tables. */
export interface Stage {
  readonly dialect: Dialect;
  /** Environment that makes a host use the database. */
  readonly env: Readonly<Record<string, string>>;
  readonly tables: Database;
  dispose(): Promise<void>;
}

export async function openStage(dialect: Dialect): Promise<Stage> {
  const made = dialect === 'postgres' ? await createTestDatabase('postgres') : undefined;
  const folder = made ? undefined : await mkdtemp(join(tmpdir(), 'mortise-soak-'));
  const file = join(folder ?? temporaryPath('unused'), 'mortise_test.db');
  const host = await openDatabase(made?.settings ?? { dialect: 'sqlite', file }, silentLog);
  return {
    dialect,
    env: made?.env ?? { MORTISE_DATABASE_FILE: file },
    tables: host.forPlugin('soak', ['realtime']),
    async dispose() {
      await host.close();
      await made?.drop();
      if (folder) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The platform with only the sessions plugin, in this process; `ttlSeconds` is the TTL of a claim. */
export function openSessions(env: Stage['env'], ttlSeconds: number): Promise<TestHost> {
  return createTestHost({
    plugins: ['sessions'],
    listen: false,
    database: env,
    env: { MORTISE_SESSION_CLAIM_TTL_SECONDS: String(ttlSeconds), MORTISE_LOG_LEVEL: 'error' },
  });
}

export function sessionOf(sessionId: string): SessionRef {
  return { channel: 'console', userId: 'soak', sessionId };
}

/** A request for a turn with one question. */
export function question(sessionId: string, content = 'question') {
  return {
    session: sessionOf(sessionId),
    input: [{ role: 'user' as const, content }],
    correlationId: 'corr-0000000000000000',
    traceId: '0'.repeat(32),
  };
}
