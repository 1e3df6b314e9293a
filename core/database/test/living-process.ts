import { silentLog } from '../../sdk/testing/silent-log.js';
import type { InstanceTimes } from '../instances.js';
import { openDatabase } from '../open-database.js';
import type { DatabaseSettings } from '../settings.js';
import { childFacts } from './child.js';

/** Registers an instance, holds a lease on request, and reports its instance id. */
const { settings, times, lease, ttlMs } = childFacts<{
  settings: DatabaseSettings;
  times?: InstanceTimes;
  lease?: string;
  ttlMs?: number;
}>();

const host = await openDatabase(settings, silentLog, times === undefined ? {} : { instances: times });
const held = lease === undefined ? null : await host.leases.tryAcquire(lease, ttlMs === undefined ? {} : { ttlMs });
process.send?.(held === null ? host.instances.id : String(held.epoch));
setInterval(() => {}, 1_000);
