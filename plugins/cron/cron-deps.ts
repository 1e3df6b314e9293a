import type { TurnService } from 'mortise/contracts/agent';
import type { ChannelsService } from 'mortise/contracts/channels';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { Alert, Database, InstancesService, Logger, Points, Principal } from 'mortise/sdk';
import type { Clock } from './clock.js';
import type { CronMetrics } from './metrics.js';
import type { RunEvents } from './run-events.js';
import type { NodeTypes } from './workflow/node-types.js';

/** The shared dependencies of the plugin's modules. */
export interface CronDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly instances: Pick<InstancesService, 'id' | 'list'>;
  readonly points: Points;
  readonly types: NodeTypes;
  /** The owner of a job with the current rights of its key; undefined when the key was removed. */
  readonly ownerNow: (owner: Principal) => Principal | undefined;
  readonly sessions: SessionsService;
  /** Undefined while no agent is running. */
  readonly turns: () => TurnService | undefined;
  /** Undefined where channels cannot be configured: they have their defaults. */
  readonly channels: () => ChannelsService | undefined;
  readonly metrics: CronMetrics;
  readonly events: RunEvents;
  readonly alert: (alert: Alert) => void;
  /** Folder of lease files that other tools write. */
  readonly leaseFolder: string;
  readonly leaseMs: number;
  /** Maximum concurrent runs of this process. */
  readonly maxRuns: number;
  readonly alertAfterFailures: number;
}
