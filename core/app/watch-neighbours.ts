import { hostname } from 'node:os';
import type { Disposable, Logger } from '../sdk/context.js';
import type { Instance, InstancesService } from '../sdk/host/instances.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** How often others are looked for, milliseconds: as long as an instance that died is taken for alive. */
const lookEveryMs = 15_000;

export interface Neighbours extends Disposable {
  findings(): readonly Finding[];
}

export interface NeighbourOptions {
  readonly instances: InstancesService;
  readonly dataDir: string;
  readonly log: Logger;
  readonly everyMs?: number;
}

/**
 * Looks for other servers on the same data directory. An embedded database bears them, and the rest of the folder is
 * made for one: they share the boot journal, and neither hears of the other's changes and events.
 *
 * A command of the command line is no server and gone soon: whoever comes later is told of when it stays.
 */
export async function watchNeighbours(options: NeighbourOptions): Promise<Neighbours> {
  const { instances, dataDir, log, everyMs = lookEveryMs } = options;
  let others: readonly Instance[] = [];
  let seen: readonly Instance[] = [];
  const told = new Set<string>();

  const take = (now: readonly Instance[]): void => {
    others = now;
    for (const { id, pid, host } of others) {
      if (told.has(id)) continue;
      told.add(id);
      log.warn({ code: 'data_dir_shared', pid, host }, sentence(dataDir, others));
    }
  };
  const look = async (): Promise<void> => {
    const before = seen;
    seen = await othersOf(instances);
    take(seen.filter(({ id }) => before.some((one) => one.id === id)));
  };

  seen = await othersOf(instances);
  take(seen);
  // A database that fails has its own findings.
  const timer = setInterval(() => void look().catch(() => undefined), everyMs).unref();
  return {
    findings: () =>
      others.length === 0
        ? []
        : [
            {
              severity: 'warning',
              code: 'data_dir_shared',
              message: sentence(dataDir, others),
              fix: 'Stop one of them, give it a --data-dir of its own, or point all at PostgreSQL (DATABASE_URL), which is made for several servers.',
            },
          ],
    dispose: () => clearInterval(timer),
  };
}

async function othersOf(instances: InstancesService): Promise<readonly Instance[]> {
  const all = await instances.list();
  return all.filter((one) => one.id !== instances.id && one.alive && !hasEnded(one));
}

/** What was killed on this machine a moment ago still looks alive in the table. */
function hasEnded({ host, pid }: Instance): boolean {
  if (host !== hostname()) return false;
  // An earlier process of a container has the number of this one.
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function sentence(dataDir: string, others: readonly Instance[]): string {
  const named = others.map(({ pid, host }) => `process ${pid} on ${host}`).join(', ');
  return `The data directory ${dataDir} is used by another server as well (${named}).`;
}
