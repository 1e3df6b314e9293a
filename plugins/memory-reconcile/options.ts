import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import type { CommandInput, Database, Logger } from 'mortise/sdk';

/** Services that reconciliation uses. */
export interface ReconcileDeps {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly memory: MemoryService;
  readonly log: Logger;
}

/** The extent of a reconciliation, and whether it repairs. */
export interface ReconcileOptions {
  /** False: nothing is written. */
  readonly fixes: boolean;
  readonly scanWindowHours: number;
  /** Rows per status and round. */
  readonly batchSize: number;
  readonly staleThresholdSeconds: number;
  readonly reschedules: boolean;
  readonly rescheduleDelaySeconds: number;
  readonly untilClean: boolean;
  readonly checksBackend: boolean;
  readonly repairsBackend: boolean;
}

export const defaultOptions: ReconcileOptions = {
  fixes: true,
  scanWindowHours: 24,
  batchSize: 100,
  staleThresholdSeconds: 600,
  reschedules: true,
  rescheduleDelaySeconds: 0,
  untilClean: false,
  checksBackend: false,
  repairsBackend: false,
};

const MAX_NUMBER = 1_000_000;

/** A number of at least `min`; the default when absent; undefined when invalid. */
function number(value: unknown, defaultNumber: number, min: number): number | undefined {
  if (value === undefined) return defaultNumber;
  const read = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  return read >= min && read <= MAX_NUMBER ? read : undefined;
}

/** Reads the command line; undefined for invalid usage. */
export function readOptions({ args, options }: CommandInput): ReconcileOptions | undefined {
  const isOnce = options.once === true;
  if (args.length > 0 || isOnce === (options.report === true)) return undefined;
  const scanWindowHours = number(options.scanWindow, defaultOptions.scanWindowHours, 0);
  const batchSize = number(options.batchSize, defaultOptions.batchSize, 1);
  const staleThresholdSeconds = number(options.staleThreshold, defaultOptions.staleThresholdSeconds, 0);
  const rescheduleDelaySeconds = number(options.rescheduleDelay, defaultOptions.rescheduleDelaySeconds, 0);
  if (scanWindowHours === undefined || staleThresholdSeconds === undefined) return undefined;
  if (batchSize === undefined || rescheduleDelaySeconds === undefined || !Number.isInteger(batchSize)) return undefined;
  const fixes = isOnce && options.autoFix !== false;
  const repairsBackend = options.repairBackend === true;
  return {
    fixes,
    scanWindowHours,
    batchSize,
    staleThresholdSeconds,
    reschedules: options.reschedule !== false,
    rescheduleDelaySeconds,
    untilClean: options.untilClean === true,
    checksBackend: repairsBackend || options.checkBackend === true,
    repairsBackend: repairsBackend && fixes,
  };
}
