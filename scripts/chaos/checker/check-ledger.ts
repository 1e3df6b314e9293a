import type { DatabaseReader } from './read-database.js';

/** A job as it was planned. Slots are computed here from its pattern, not by the product. */
export interface LedgerJob {
  readonly id: string;
  /** Seconds; an interval counts from the beginning of its epoch. */
  readonly interval?: number;
  /** Seconds of the minute, and minutes of the hour in the zone, at which the job is due. */
  readonly cron?: { readonly seconds: readonly number[]; readonly minutes: readonly number[]; readonly zone: string };
  readonly policy: 'run_once' | 'skip' | 'run_all';
  readonly onInterrupt: 'safe' | 'retry';
}

interface Epoch {
  readonly job_id: string;
  readonly epoch: number;
  readonly from_at: string;
  readonly to_at: string | null;
}

interface Slot {
  readonly job_id: string;
  readonly scheduled_at: string;
  readonly through_at: string;
  readonly slot_count: number | string | null;
  readonly epoch: number;
  readonly outcome: string;
  readonly reason: string | null;
}

interface Run {
  readonly run_id: string;
  readonly job_id: string;
  readonly scheduled_at: string | null;
  readonly status: string;
  readonly error: string | null;
}

export interface LedgerReport {
  readonly violations: readonly string[];
  /** Slots by outcome, or by the reason for not running. */
  readonly slots: Readonly<Record<string, number>>;
  readonly runs: Readonly<Record<string, number>>;
}

/**
 * Checks that every slot of every epoch has exactly one row, that no row covers other times, and that the journal of the
 * receiver matches the outcomes.
 *
 * @param journal lines `begin <key>` and `sent <key>`
 */
export async function checkLedger(
  reader: DatabaseReader,
  jobs: readonly LedgerJob[],
  journal: readonly string[],
): Promise<LedgerReport> {
  const prefix = reader.dialect === 'sqlite' ? 'cron_' : 'cron.';
  const read = <Row>(table: string): Promise<readonly Row[]> => reader.rows<Row>(`select * from ${prefix}${table}`);
  const epochs = await read<Epoch>('epochs');
  const slots = await read<Slot>('slots');
  const runs = await read<Run>('runs');
  const violations: string[] = [];
  const tally: Record<string, number> = {};
  const times = new Map<string, number>();
  for (const line of journal) times.set(line, (times.get(line) ?? 0) + 1);
  for (const job of jobs) {
    const own = slots.filter(({ job_id }) => job_id === job.id);
    const ran = runs.filter(({ job_id }) => job_id === job.id);
    violations.push(
      ...checkCover(
        job,
        epochs.filter(({ job_id }) => job_id === job.id),
        own,
      ),
      ...checkRuns(job, own, ran, times),
    );
    for (const { outcome, reason, slot_count } of own) {
      const name = outcome === 'skipped' || reason !== null ? `${outcome} ${reason}` : outcome;
      tally[name] = (tally[name] ?? 0) + Number(slot_count ?? 1);
    }
  }
  return {
    violations,
    slots: tally,
    runs: countBy(runs, ({ status, error }) => `${status}${error === null ? '' : `: ${error}`}`),
  };
}

function countBy<T>(items: readonly T[], name: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[name(item)] = (counts[name(item)] ?? 0) + 1;
  return counts;
}

const minuteMs = 60_000;

/** The slots of an epoch, computed minute by minute. */
function expectedSlots({ interval, cron }: LedgerJob, { from_at, to_at }: Epoch): readonly number[] {
  const [from, to] = [Date.parse(from_at), Date.parse(to_at ?? '')];
  const expected: number[] = [];
  if (interval !== undefined) {
    for (let at = from + interval * 1_000; at <= to; at += interval * 1_000) expected.push(at);
  } else if (cron) {
    const format = new Intl.DateTimeFormat('en-GB', { timeZone: cron.zone, minute: '2-digit' });
    for (let minute = Math.floor(from / minuteMs) * minuteMs; minute <= to; minute += minuteMs) {
      if (!cron.minutes.includes(Number(format.format(minute)))) continue;
      for (const second of cron.seconds) {
        const at = minute + second * 1_000;
        if (at > from && at <= to) expected.push(at);
      }
    }
  }
  return expected;
}

function checkCover(job: LedgerJob, epochs: readonly Epoch[], slots: readonly Slot[]): string[] {
  const violations: string[] = [];
  if (epochs.length === 0) violations.push(`${job.id}: has no epoch`);
  let covered = 0;
  for (const epoch of epochs) {
    if (epoch.to_at === null) violations.push(`${job.id}: epoch ${epoch.epoch} is open`);
    const rows = slots.filter((slot) => slot.epoch === epoch.epoch);
    const expected = expectedSlots(job, epoch);
    for (const at of expected) {
      const found = rows.filter((row) => Date.parse(row.scheduled_at) <= at && at <= Date.parse(row.through_at));
      if (found.length !== 1) violations.push(`${job.id}: ${found.length} rows for ${new Date(at).toISOString()}`);
    }
    const known = new Set(expected);
    for (const row of rows) {
      covered += 1;
      const [first, last] = [Date.parse(row.scheduled_at), Date.parse(row.through_at)];
      const count = expected.filter((at) => at >= first && at <= last).length;
      if (!known.has(first) || !known.has(last)) violations.push(`${job.id}: ${row.scheduled_at} is not a slot`);
      if (Number(row.slot_count) !== count)
        violations.push(`${job.id}: ${row.scheduled_at} counts ${row.slot_count}, not ${count}`);
      if (row.outcome !== 'skipped' && first !== last) violations.push(`${job.id}: ${row.scheduled_at} runs a range`);
    }
  }
  if (covered !== slots.length) violations.push(`${job.id}: rows outside all epochs`);
  return violations;
}

function checkRuns(
  job: LedgerJob,
  slots: readonly Slot[],
  runs: readonly Run[],
  journal: ReadonlyMap<string, number>,
): string[] {
  const violations: string[] = [];
  const bySlot = Map.groupBy(runs, ({ scheduled_at }) => scheduled_at);
  for (const { scheduled_at: at, outcome, reason } of slots) {
    const own = bySlot.get(at) ?? [];
    const done = own.filter(({ status }) => status === 'succeeded').length;
    const key = `cron:${job.id}:${at}`;
    const [begun, sent] = [journal.get(`begin ${key}`) ?? 0, journal.get(`sent ${key}`) ?? 0];
    const report = (what: string) => violations.push(`${key}: ${what}`);
    if (outcome === 'queued' || outcome === 'running') report(`is still ${outcome}`);
    if (own.some(({ status }) => status === 'queued' || status === 'running')) report('has an unfinished run');
    if (done > 1) report(`succeeded ${done} times`);
    if ((outcome === 'succeeded') !== (done === 1)) report(`is ${outcome} with ${done} successful runs`);
    if (outcome === 'succeeded' && sent === 0) report('succeeded without an effect');
    if (outcome === 'skipped' && begun > 0) report('was skipped and has an effect');
    if (outcome === 'skipped' && job.policy === 'run_all') report(`was skipped: ${reason}`);
    if (begun > 1 && job.onInterrupt === 'safe') report(`has ${begun} effects`);
  }
  const known = new Set(slots.map(({ scheduled_at }) => scheduled_at));
  for (const [at] of bySlot)
    if (at !== null && !known.has(at)) violations.push(`${job.id}: a run for ${at}, which has no row`);
  return violations;
}
