import { setTimeout as delay } from 'node:timers/promises';
import type { ServerProcess, ServerProcessOptions } from 'mortise/sdk/testing';
import { countUnfinished } from './checker/count-unfinished.js';
import type { Violation } from './checker/evidence.js';
import type { DatabaseReader } from './checker/read-database.js';
import type { BackendKind } from './options.js';
import { runCommand } from './stage/run-command.js';

const POLL_EVERY_MS = 250;
/**
 * A run is stuck when no row changes and no delivery is attempted for this long. Writes of a dead process are settled half
 * a minute after its last heartbeat; on a machine with other work that takes several times as long.
 */
const STUCK_AFTER_MS = 300_000;

/** Waits until every row reached its final state. Returns early when nothing changes any more; the checker reports what is left. */
async function untilDone(database: DatabaseReader): Promise<void> {
  let before = '';
  let changedAt = performance.now();
  for (;;) {
    const { failedAttempts, ...rows } = await countUnfinished(database);
    if (Object.values(rows).every((count) => count === 0)) return;
    const now = JSON.stringify([rows, failedAttempts]);
    if (now !== before) changedAt = performance.now();
    if (performance.now() - changedAt > STUCK_AFTER_MS) return;
    before = now;
    await delay(POLL_EVERY_MS);
  }
}

/** A server that serves must end well when it is asked to. */
async function stop(server: ServerProcess): Promise<Violation[]> {
  const how = await server.end('SIGTERM');
  return how === 0 ? [] : [{ rule: 'shutdown', what: `A server that was asked to stop ended with ${how}.` }];
}

interface ReconcileReport {
  readonly sent: { readonly missing_audit: number };
  readonly dead: { readonly missing_audit: number };
  readonly stale: { readonly count: number };
}

/** What reconciliation would have to mend is a fault already: nothing here was lost but processes. */
async function reconcile(folder: string, { settings, backend }: Remains): Promise<Violation[]> {
  // An OpenMemory server that merges has other memories in the place of dead letters; the local backend has no excuse.
  const more = backend === 'local' ? ['--check-backend'] : [];
  const args = ['memory', 'reconcile', '--once', '--until-clean', '--scan-window', '100000', ...more];
  const { exitCode, data, output } = await runCommand(folder, settings, args);
  if (exitCode !== 0) return [{ rule: 'reconcile', what: `The reconciliation ended with ${exitCode}: ${output}` }];
  const { sent, dead, stale } = data as ReconcileReport;
  const mended = sent.missing_audit + dead.missing_audit + stale.count;
  return mended === 0 ? [] : [{ rule: 'reconcile', what: `The reconciliation had to mend ${mended} rows.` }];
}

async function verifyChain(folder: string, settings: ServerProcessOptions): Promise<Violation[]> {
  const { exitCode, output } = await runCommand(folder, settings, ['memory', 'audit', 'verify']);
  return exitCode === 0 ? [] : [{ rule: 'chain', what: `The product's own look at the chain: ${output}` }];
}

/** What is left on the stage when nobody is killed any more and the backend is well. */
export interface Remains {
  readonly servers: readonly ServerProcess[];
  readonly settings: ServerProcessOptions;
  readonly database: DatabaseReader;
  readonly backend: BackendKind;
}

/**
 * Lets everything come to its end, stops the servers as an operator would, and lets the product look at its own books.
 * @returns what was wrong with that.
 */
export async function settle(remains: Remains): Promise<readonly Violation[]> {
  const { servers, settings, database } = remains;
  await untilDone(database);
  const stopped = await Promise.all(servers.map(stop));
  const folder = servers[0]?.folder ?? '';
  return [...stopped.flat(), ...(await reconcile(folder, remains)), ...(await verifyChain(folder, settings))];
}
