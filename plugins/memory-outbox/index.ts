import { type PluginDefinition, whenServing } from 'mortise/sdk';
import { outboxCommand } from './commands/outbox-command.js';
import { workerCommand } from './commands/worker-command.js';
import type { Config } from './config.generated.js';
import type { OutboxDeps } from './outbox-deps.js';
import { listRoute, retryRoute } from './rest/outbox-routes.js';
import { observeOutbox } from './rows.js';
import { OutboxWorker } from './worker/outbox-worker.js';

const POLL_MS = 1_000;
const DRAIN_MS = 10_000;

/** Delivers memories that the backend could not accept, and manages pending and dead rows. */
export default function memoryOutbox(): PluginDefinition<Config> {
  let worker: OutboxWorker | undefined;
  return {
    key: 'memory-outbox',
    async start(host) {
      const deps: OutboxDeps = {
        config: host.config,
        database: host.use('database'),
        logbook: host.use('logbook'),
        audit: host.use('audit'),
        memory: host.use('memory'),
        log: host.log,
        every: (ms, run) => host.every(ms, run),
        now: () => performance.now(),
        random: Math.random,
      };
      const { outbox } = deps.logbook;
      const workerCommandFacts = host.facts('command', 'memory-outbox-worker');
      host.contribute('command', 'memory-outbox-worker', workerCommand(workerCommandFacts, deps));
      host.contribute('command', 'memory-outbox', outboxCommand(host.facts('command', 'memory-outbox'), deps));
      host.contribute('route', 'memory-outbox-list', listRoute(deps));
      host.contribute('route', 'memory-outbox-retry', retryRoute(deps));
      observeOutbox(host.use('metrics'), deps.logbook);

      host.own(deps.memory.announceDelivery(host.config.worker ? 'here' : 'elsewhere'));
      if (!host.config.worker) return;
      const started = new OutboxWorker(deps, host.use('instances').id);
      worker = started;
      // A process that runs a command does not serve, so it does not deliver.
      whenServing(host, host.use('http'), async () => {
        // The process that would report the recovery of the backend may have ended.
        await makeDue(deps, started);
        started.start(POLL_MS);
      });
      host.own(await outbox.onRows(() => started.wake()));
      host.own(deps.memory.onRecovered(() => void makeDue(deps, started)));
      host.on('shutdown', () => started.stop(DRAIN_MS));
    },
    async stop() {
      await worker?.stop(DRAIN_MS);
    },
  };
}

/** Makes the rows that wait for the backend due, because it may answer again. */
async function makeDue({ logbook, log }: OutboxDeps, worker: OutboxWorker): Promise<void> {
  try {
    await logbook.outbox.makeDue();
  } catch (error) {
    log.warn({ err: error }, 'rows that wait for the backend keep their schedule');
  }
  worker.wake();
}
