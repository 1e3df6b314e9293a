import { type PluginDefinition, whenServing } from 'mortise/sdk';
import { outboxCommand } from './commands/outbox-command.js';
import { workerCommand } from './commands/worker-command.js';
import type { Config } from './config.generated.js';
import { observeOutbox } from './observe-outbox.js';
import type { OutboxParts } from './parts.js';
import { listRoute, retryRoute } from './rest/outbox-routes.js';
import { OutboxWorker } from './worker/outbox-worker.js';

const LOOK_EVERY_MS = 1_000;
const DRAIN_MS = 10_000;

/** Delivers what the memory backend could not take, and shows what waits and what is dead. */
export default function memoryOutbox(): PluginDefinition<Config> {
  let worker: OutboxWorker | undefined;
  return {
    key: 'memory-outbox',
    register() {},
    async start(host) {
      const parts: OutboxParts = {
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
      const { outbox } = parts.logbook;
      const workerCommandFacts = host.facts('command', 'memory-outbox-worker');
      host.contribute('command', 'memory-outbox-worker', workerCommand(workerCommandFacts, parts));
      host.contribute('command', 'memory-outbox', outboxCommand(host.facts('command', 'memory-outbox'), parts));
      host.contribute('route', 'memory-outbox-list', listRoute(parts));
      host.contribute('route', 'memory-outbox-retry', retryRoute(parts));
      observeOutbox(host.use('metrics'), parts.logbook);

      // A process that was started for one command delivers only when that is the command.
      if (!host.config.worker) return;
      const own = new OutboxWorker(parts, host.use('instances').id);
      worker = own;
      whenServing(host, host.use('http'), async () => {
        // Whoever saw the backend fail may be gone, and with it the notice that it answers again.
        await hasten(parts, own);
        own.start(LOOK_EVERY_MS);
      });
      host.own(await outbox.onRows(() => own.wake()));
      host.own(parts.memory.onRecovered(() => void hasten(parts, own)));
      host.on('shutdown', () => own.stop(DRAIN_MS));
    },
    async stop() {
      await worker?.stop(DRAIN_MS);
    },
  };
}

/** The backend answers again, or nobody knows that it does not: what waits for it is due. */
async function hasten({ logbook, log }: OutboxParts, worker: OutboxWorker): Promise<void> {
  try {
    await logbook.outbox.hasten();
  } catch (error) {
    log.warn({ err: error }, 'Rows that wait for the backend keep their time.');
  }
  worker.wake();
}
