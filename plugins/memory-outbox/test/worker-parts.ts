import { silentLog } from 'mortise/sdk/testing';
import type { OutboxDeps } from '../outbox-deps.js';
import type { OutboxHost } from './outbox-host.js';

/** What a worker beside the platform's own works with: a lease of one second that no timer renews. */
export function workerParts({ host, database }: OutboxHost): OutboxDeps {
  return {
    config: {
      worker: false,
      batch_size: 100,
      concurrency: 8,
      max_retries: 5,
      base_backoff: 60,
      max_backoff: 3_600,
      lease_seconds: 1,
      max_age_hours: 168,
      timeout_seconds: 10,
    },
    database,
    logbook: host.service('logbook'),
    audit: host.service('audit'),
    memory: host.service('memory'),
    log: silentLog,
    every: () => ({ dispose() {} }),
    now: () => performance.now(),
    random: () => 0.5,
  };
}
