import { setTimeout as delay } from 'node:timers/promises';
import type { ServerProcess, ServerProcessOptions } from 'mortise/sdk/testing';
import type { Violation } from './checker/evidence.js';
import { countUnfinished, type DatabaseReader } from './checker/read-database.js';
import type { BackendKind } from './options.js';
import { runCommand } from './stage/run-command.js';

const POLL_INTERVAL_MS = 250;
/**
 * A run is stuck when no row changes and no delivery is attempted for this long. Writes of a dead process are settled 30 s
 * after its last heartbeat, or several times later on a busy machine.
 */
const STUCK_AFTER_MS = 300_000;

/** Waits until every row is final, or until the rows stop changing; the checker reports the rest. */
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
    await delay(POLL_INTERVAL_MS);
  }
}

/** Stops a server, which must exit cleanly. */
async function stop(server: ServerProcess): Promise<Violation[]> {
  const how = await server.end('SIGTERM');
  return how === 0 ? [] : [{ rule: 'shutdown', what: `A server that was asked to stop ended with ${how}.` }];
}

interface ReconcileReport {
  readonly sent: { readonly missing_audit: number };
  readonly dead: { readonly missing_audit: number };
  readonly stale: { readonly count: number };
}

/** Any repair by reconciliation is a violation, because only processes were lost. */
async function reconcile(folder: string, { settings, backend }: Settling): Promise<Violation[]> {
  // An OpenMemory server that merges has other memories instead of dead letters; the local backend must match exactly.
  const more = backend === 'local' ? ['--check-backend'] : [];
  const args = ['memory', 'reconcile', '--once', '--until-clean', '--scan-window', '100000', ...more];
  const { exitCode, data, output } = await runCommand(folder, settings, args);
  if (exitCode !== 0) return [{ rule: 'reconcile', what: `The reconciliation ended with ${exitCode}: ${output}` }];
  const { sent, dead, stale } = data as ReconcileReport;
  const repaired = sent.missing_audit + dead.missing_audit + stale.count;
  return repaired === 0 ? [] : [{ rule: 'reconcile', what: `The reconciliation had to repair ${repaired} rows.` }];
}

async function verifyChain(folder: string, settings: ServerProcessOptions): Promise<Violation[]> {
  const { exitCode, output } = await runCommand(folder, settings, ['memory', 'audit', 'verify']);
  return exitCode === 0 ? [] : [{ rule: 'chain', what: `The product's check of the chain: ${output}` }];
}

/** The state after the last kill, with a backend without faults. */
interface Settling {
  readonly servers: readonly ServerProcess[];
  readonly settings: ServerProcessOptions;
  readonly database: DatabaseReader;
  readonly backend: BackendKind;
}

/**
 * Waits for all work to finish, stops the servers as an operator would, and runs the product's own checks.
 * @returns the violations
 */
export async function settle(settling: Settling): Promise<readonly Violation[]> {
  const { servers, settings, database } = settling;
  await untilDone(database);
  const stopped = await Promise.all(servers.map(stop));
  const folder = servers[0]?.folder ?? '';
  return [...stopped.flat(), ...(await reconcile(folder, settling)), ...(await verifyChain(folder, settings))];
}
