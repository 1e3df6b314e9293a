import type { BatchStatement, Principal, Transaction } from 'mortise/sdk';
import type { CronJobSpec } from '../contract/index.js';
import type { CronDeps } from '../cron-deps.js';
import { effectiveRuntime } from '../read-job-spec.js';
import { timeText } from '../times.js';
import { isHeldByFile } from './lease-files.js';
import { newCorrelationId, newLeaseId, type RunRow } from './rows.js';

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

export interface StartOutcome {
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

interface LeaseRow {
  readonly job_id: string;
  readonly slot_no: number;
  readonly expires_at: string;
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
    const leases = new LeaseTable(deps, await readLeases(deps, rows, trx), now);
    const started: StartedRun[] = [];
    const busy: RunRow[] = [];
    const writes: { readonly jobId: string; readonly statements: readonly BatchStatement[] }[] = [];
    for (const row of rows) {
      const spec = JSON.parse(row.job_spec_json) as CronJobSpec;
      const leaseId = newLeaseId();
      const taken = await leases.take(row, spec, leaseId, trx);
      if (taken) {
        const run = { row, spec, leaseId, correlationId: newCorrelationId(), leasedUntil };
        started.push({ ...run, owner: JSON.parse(row.owner_json) as Principal });
        writes.push({ jobId: row.job_id, statements: startStatements(deps, run, now) });
      } else if (waitsForLease(row, spec)) {
        const sql = 'update {cron.runs} set waits = ? where run_id = ?';
        writes.push({ jobId: row.job_id, statements: [{ sql, bindings: [true, row.run_id] }] });
      } else {
        busy.push(row);
        writes.push({ jobId: row.job_id, statements: rejectStatements(row, spec, now) });
      }
    }
    // Every process locks the rows of jobs in the same order.
    writes.sort((a, b) => (a.jobId < b.jobId ? -1 : a.jobId > b.jobId ? 1 : 0));
    await database.batch(
      writes.flatMap(({ statements }) => statements),
      { trx },
    );
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
  return database
    .query({ trx })<LeaseRow>(database.table('cron.leases'))
    .select('job_id', 'slot_no', 'expires_at')
    .whereIn('job_id', jobIds);
}

/** The leases of some jobs, as they are within one transaction. */
class LeaseTable {
  readonly #deps: StartDeps;
  readonly #now: string;
  /** By job: the numbers that are taken. */
  readonly #held = new Map<string, Set<number>>();

  constructor(deps: StartDeps, rows: readonly LeaseRow[], now: string) {
    this.#deps = deps;
    this.#now = now;
    for (const { job_id, slot_no, expires_at } of rows) if (expires_at > now) this.#of(job_id).add(slot_no);
  }

  /** Takes a free or expired lease. False when there is none. */
  async take(row: RunRow, { runtime }: CronJobSpec, leaseId: string, trx: Transaction): Promise<boolean> {
    const held = this.#of(row.job_id);
    const { maxConcurrency, misfirePolicy } = effectiveRuntime(runtime);
    // Missed slots run one after another.
    if (misfirePolicy === 'run_all' && row.trigger === 'schedule' && held.size > 0) return false;
    for (let slotNo = 0; slotNo < maxConcurrency; slotNo += 1) {
      if (held.has(slotNo)) continue;
      held.add(slotNo);
      if (isHeldByFile(this.#deps.leaseFolder, row.job_id, slotNo, this.#deps.clock.now())) continue;
      if (await this.#write(row, slotNo, leaseId, trx)) return true;
    }
    return false;
  }

  /** False when another process has taken the lease in between. */
  async #write({ job_id, run_id }: RunRow, slotNo: number, leaseId: string, trx: Transaction): Promise<boolean> {
    const { database, clock, instances, leaseMs } = this.#deps;
    const expires = timeText(clock.now() + leaseMs);
    const { changes } = await database.statement(
      `insert into {cron.leases} as held (job_id, slot_no, lease_id, run_id, owner, acquired_at, expires_at)
       values (?, ?, ?, ?, ?, ?, ?)
       on conflict (job_id, slot_no) do update set lease_id = excluded.lease_id, run_id = excluded.run_id,
         owner = excluded.owner, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at
       where held.expires_at <= excluded.acquired_at`,
      [job_id, slotNo, leaseId, run_id, instances.id, this.#now, expires],
      { trx },
    );
    return changes === 1;
  }

  #of(jobId: string): Set<number> {
    const held = this.#held.get(jobId) ?? new Set<number>();
    this.#held.set(jobId, held);
    return held;
  }
}

function startStatements(
  { instances }: StartDeps,
  { row, spec, leaseId, correlationId }: Pick<StartedRun, 'row' | 'spec' | 'leaseId' | 'correlationId'>,
  now: string,
): BatchStatement[] {
  const statements: BatchStatement[] = [
    {
      sql: `update {cron.runs} set status = 'running', waits = ?, started_at = ?, lease_id = ?, owner = ?,
              correlation_id = ?, spec_json = ? where run_id = ?`,
      // The run ends with the job that it started with.
      bindings: [false, now, leaseId, instances.id, correlationId, JSON.stringify(spec), row.run_id],
    },
    {
      sql: `update {cron.jobs} set last_run_at = ?, last_run_id = ?, last_status = 'running', last_error = null
            where job_id = ?`,
      bindings: [now, row.run_id, row.job_id],
    },
  ];
  if (row.scheduled_at !== null) {
    statements.push({
      sql: `update {cron.slots} set outcome = 'running', reason = null, run_id = ?, attempts = ?
            where job_id = ? and scheduled_at = ?`,
      bindings: [row.run_id, row.attempt, row.job_id, row.scheduled_at],
    });
  }
  return statements;
}

function rejectStatements(row: RunRow, { runtime }: CronJobSpec, now: string): BatchStatement[] {
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
  return statements;
}
