import { type BatchStatement, jsonTexts, type Principal, type Transaction } from 'mortise/sdk';
import type { CronJobSpec } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { effectiveRuntime } from '../read-job-spec.js';
import { timeText } from '../times.js';
import { jsonRows } from './json-rows.js';
import { isHeldByFile } from './lease-files.js';
import { lockJobs, newCorrelationId, newLeaseId, type RunRow } from './rows.js';

type StartDeps = Pick<CronDeps, 'database' | 'clock' | 'instances' | 'leaseFolder' | 'leaseMs' | 'metrics'>;

/** A run of this process, with its lease. */
export interface StartedRun {
  readonly row: RunRow;
  readonly spec: CronJobSpec;
  readonly owner: Principal;
  readonly leaseId: string;
  readonly correlationId: string;
  /** Monotonic milliseconds; counted from before the lease was written. */
  readonly leasedUntil: number;
}

interface StartOutcome {
  readonly started: readonly StartedRun[];
  /** Runs that ended because all leases of their job are taken. */
  readonly busy: readonly RunRow[];
  /** Runs that were looked at: fewer than asked for when nothing else is due. */
  readonly seen: number;
}

interface QueuedRow extends RunRow {
  readonly job_spec_json: string;
  readonly owner_json: string;
}

interface LeaseRow extends LeaseHolder {
  readonly job_id: string;
  readonly slot_no: number;
  readonly expires_at: string;
  readonly status: RunRow['status'] | null;
}

/** The run that has a lease; null if its row was deleted. */
interface LeaseHolder {
  readonly trigger: RunRow['trigger'] | null;
  readonly scheduled_at: string | null;
  readonly queued_at: string | null;
}

/**
 * Starts queued runs, oldest first: each takes a lease of its job, and run, ledger, lease and state of the job change in
 * one transaction. A run without a free lease fails, or waits until one is released, as the job says.
 */
export function startRuns(deps: StartDeps, limit: number): Promise<StartOutcome> {
  const { database, clock, leaseMs } = deps;
  const leasedUntil = clock.monotonic() + leaseMs;
  return database.transaction(async (trx) => {
    const lock = database.dialect === 'postgres' ? 'for update of r skip locked' : '';
    const now = timeText(clock.now());
    const { rows } = await database.statement<QueuedRow>(
      `select r.*, j.spec_json as job_spec_json, j.owner_json from {cron.runs} r join {cron.jobs} j on j.job_id = r.job_id
       where r.status = 'queued' and not r.waits and r.not_before <= ? order by r.not_before, r.run_id limit ? ${lock}`,
      [now, limit],
      { trx },
    );
    if (rows.length === 0) return { started: [], busy: [], seen: 0 };
    const free = new FreeLeases(deps, await readLeases(deps, rows, trx), now);
    const wanted = rows.map((row): WantedLease => {
      // All attempts of a slot, and its recovery, do what the first one began: they share its idempotency key.
      const spec = JSON.parse(row.spec_json ?? row.job_spec_json) as CronJobSpec;
      return { row, spec, leaseId: newLeaseId(), slotNo: free.choose(row, spec) };
    });
    const taken = await takeLeases(deps, wanted, now, trx);
    const started: StartedRun[] = [];
    const busy: RunRow[] = [];
    const statements: BatchStatement[] = [];
    for (const { row, spec, leaseId } of wanted) {
      if (taken.has(leaseId)) {
        const { job_spec_json, owner_json, ...queued } = row;
        const correlationId = newCorrelationId();
        const running = { status: 'running', started_at: now, lease_id: leaseId, owner: deps.instances.id } as const;
        const run = {
          row: { ...queued, ...running, correlation_id: correlationId, spec_json: queued.spec_json ?? job_spec_json },
          spec,
          owner: JSON.parse(owner_json) as Principal,
          leaseId,
          correlationId,
          leasedUntil,
        };
        started.push(run);
      } else if (waitsForLease(row, spec) || free.isBehindRecovery(row)) {
        const sql = 'update {cron.runs} set waits = ? where run_id = ?';
        statements.push({ sql, bindings: [true, row.run_id] });
      } else {
        const rejected = rejectStatements(row, spec, now);
        busy.push({ ...row, status: 'failed', error: rejected.error, finished_at: now });
        statements.push(...rejected.statements);
      }
    }
    const jobIds = [...started, ...busy.map((row) => ({ row }))].map(({ row }) => row.job_id);
    await database.batch([...lockJobs(database, jobIds), ...startStatements(deps, started, now), ...statements], {
      trx,
    });
    return { started, busy, seen: rows.length };
  });
}

/** Retries and recovered runs wait as well: their slot has already been accepted. */
function waitsForLease({ trigger }: RunRow, { runtime }: CronJobSpec): boolean {
  if (trigger === 'manual') return false;
  return trigger !== 'schedule' || effectiveRuntime(runtime).overlapPolicy === 'queue';
}

async function readLeases(
  { database }: StartDeps,
  rows: readonly RunRow[],
  trx: Transaction,
): Promise<readonly LeaseRow[]> {
  const jobIds = [...new Set(rows.map(({ job_id }) => job_id))];
  const { rows: leases } = await database.statement<LeaseRow>(
    `select l.job_id, l.slot_no, l.expires_at, r.status, r.trigger, r.scheduled_at, r.queued_at
     from {cron.leases} l left join {cron.runs} r on r.run_id = l.run_id and r.lease_id = l.lease_id
     where l.job_id in ${jsonTexts(database.dialect)}`,
    [JSON.stringify(jobIds)],
    { trx },
  );
  return leases;
}

interface WantedLease {
  readonly row: QueuedRow;
  readonly spec: CronJobSpec;
  readonly leaseId: string;
  /** Undefined: all leases of the job are taken. */
  readonly slotNo: number | undefined;
}

interface Held extends LeaseHolder {
  /** The lease has expired and its run is not recovered yet. */
  readonly isOrphan: boolean;
}

/** The leases of some jobs that are free, as they were when a transaction read them. */
class FreeLeases {
  readonly #deps: StartDeps;
  /** By job: the leases that are taken, by number. */
  readonly #held = new Map<string, Map<number, Held>>();

  constructor(deps: StartDeps, rows: readonly LeaseRow[], now: string) {
    this.#deps = deps;
    for (const { job_id, slot_no, expires_at, status, ...holder } of rows) {
      const isExpired = expires_at <= now;
      const isOrphan = isExpired && status === 'running';
      if (!isExpired || isOrphan) this.#of(job_id).set(slot_no, { ...holder, isOrphan });
    }
  }

  /** The number of a free or expired lease, which counts as taken from now on. */
  choose(row: RunRow, { runtime }: CronJobSpec): number | undefined {
    const { leaseFolder, clock } = this.#deps;
    const { job_id, trigger, scheduled_at, queued_at } = row;
    const held = this.#of(job_id);
    const { maxConcurrency, misfirePolicy } = effectiveRuntime(runtime);
    // Missed slots run one after another.
    if (misfirePolicy === 'run_all' && trigger === 'schedule' && held.size > 0) return undefined;
    for (let slotNo = 0; slotNo < maxConcurrency; slotNo += 1) {
      const holder = held.get(slotNo);
      if (holder && !(holder.isOrphan && !isAfter(row, holder))) continue;
      held.set(slotNo, { trigger, scheduled_at, queued_at, isOrphan: false });
      if (!isHeldByFile(leaseFolder, job_id, slotNo, clock.now())) return slotNo;
    }
    return undefined;
  }

  /**
   * Whether an older slot of the job is recovered first. What became due until then waits behind it and does not overlap;
   * later slots go by the policy.
   */
  isBehindRecovery(row: RunRow): boolean {
    return [...this.#of(row.job_id).values()].some(
      (holder) =>
        isAfter(row, holder) &&
        (holder.isOrphan || (holder.trigger === 'recovery' && row.not_before <= (holder.queued_at ?? ''))),
    );
  }

  #of(jobId: string): Map<number, Held> {
    const held = this.#held.get(jobId) ?? new Map<number, Held>();
    this.#held.set(jobId, held);
    return held;
  }
}

/** Whether a scheduled run has a later slot. */
function isAfter({ trigger, scheduled_at: slot }: RunRow, { scheduled_at: earlier }: LeaseHolder): boolean {
  return trigger === 'schedule' && slot !== null && earlier !== null && slot > earlier;
}

/** Writes the leases; another process may have taken one in between. @returns the ids of those that were taken */
async function takeLeases(
  { database, clock, instances, leaseMs }: StartDeps,
  wanted: readonly WantedLease[],
  now: string,
  trx: Transaction,
): Promise<ReadonlySet<string>> {
  const taken = wanted.flatMap(({ row, leaseId, slotNo }) =>
    slotNo === undefined ? [] : [{ job: row.job_id, slot: slotNo, lease: leaseId, run: row.run_id }],
  );
  if (taken.length === 0) return new Set();
  // Every process takes the leases of jobs in the same order.
  const { rows } = await database.statement<{ lease_id: string }>(
    `insert into {cron.leases} as held (job_id, slot_no, lease_id, run_id, owner, acquired_at, expires_at)
     select v.job, v.slot, v.lease, v.run, ?, ?, ? from ${jsonRows(database.dialect, leaseColumns)} v
     where true order by v.job, v.slot
     on conflict (job_id, slot_no) do update set lease_id = excluded.lease_id, run_id = excluded.run_id,
       owner = excluded.owner, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
     where held.expires_at <= excluded.acquired_at
     returning lease_id`,
    [instances.id, now, timeText(clock.now() + leaseMs), JSON.stringify(taken)],
    { trx },
  );
  return new Set(rows.map(({ lease_id }) => lease_id));
}

const leaseColumns = { job: 'text', slot: 'integer', lease: 'text', run: 'text' } as const;
const startColumns = { run: 'text', lease: 'text', correlation: 'text', spec: 'text' } as const;
const slotColumns = { job: 'text', at: 'text', run: 'text', attempt: 'integer' } as const;

/** One statement per table, however many runs start. */
function startStatements(
  { database: { dialect }, instances }: StartDeps,
  started: readonly StartedRun[],
  now: string,
): BatchStatement[] {
  if (started.length === 0) return [];
  const runs = started.map(({ row, leaseId, correlationId }) => {
    return { run: row.run_id, lease: leaseId, correlation: correlationId, spec: row.spec_json };
  });
  // The last of several runs of a job is the one that its state shows.
  const jobs = new Map(started.map(({ row }) => [row.job_id, { job: row.job_id, run: row.run_id }]));
  const slots = started.flatMap(({ row }) =>
    row.scheduled_at === null ? [] : [{ job: row.job_id, at: row.scheduled_at, run: row.run_id, attempt: row.attempt }],
  );
  return [
    {
      // A run ends with the job that it started with.
      sql: `update {cron.runs} set status = 'running', waits = ?, started_at = ?, owner = ?, lease_id = v.lease,
              correlation_id = v.correlation, spec_json = v.spec
            from ${jsonRows(dialect, startColumns)} v where run_id = v.run`,
      bindings: [false, now, instances.id, JSON.stringify(runs)],
    },
    {
      sql: `update {cron.jobs} set last_run_at = ?, last_run_id = v.run, last_status = 'running', last_error = null
            from ${jsonRows(dialect, { job: 'text', run: 'text' })} v where job_id = v.job`,
      bindings: [now, JSON.stringify([...jobs.values()])],
    },
    {
      sql: `update {cron.slots} set outcome = 'running', reason = null, run_id = v.run, attempts = v.attempt
            from ${jsonRows(dialect, slotColumns)} v where job_id = v.job and scheduled_at = v.at`,
      bindings: [JSON.stringify(slots)],
    },
  ];
}

function rejectStatements(row: RunRow, { runtime }: CronJobSpec, now: string) {
  const error = `max_concurrency limit reached (${effectiveRuntime(runtime).maxConcurrency})`;
  const statements: BatchStatement[] = [
    {
      sql: `update {cron.runs} set status = 'failed', error = ?, finished_at = ? where run_id = ?`,
      bindings: [error, now, row.run_id],
    },
    {
      sql: `update {cron.jobs} set last_status = 'failed', last_error = ? where job_id = ?`,
      bindings: [error, row.job_id],
    },
  ];
  if (row.scheduled_at !== null) {
    statements.push({
      sql: `update {cron.slots} set outcome = 'failed', reason = 'overlap', run_id = ?
            where job_id = ? and scheduled_at = ?`,
      bindings: [row.run_id, row.job_id, row.scheduled_at],
    });
  }
  return { error, statements };
}
