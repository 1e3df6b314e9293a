import type { AuditService, LogbookService } from 'mortise/contracts/logbook';
import type { MemoryService } from 'mortise/contracts/memory-gateway';
import { createTransactionGroup, type Database, type GroupCommit, type Transaction } from 'mortise/sdk';
import {
  BackendFailed,
  LostRace,
  type MemoryJob,
  NewUserFailed,
  type WriteJob,
  type WriteOutcome,
} from './write-job.js';

interface WriterDeps {
  readonly database: Database;
  readonly logbook: LogbookService;
  readonly audit: AuditService;
  readonly backend: MemoryService;
}

type NewUser = 'created' | 'disabled';

/**
 * Creates the users that the jobs need. An existing user is not created again, and a disabled one stays disabled. All
 * processes create users in the same order, so that they do not wait for each other in a circle.
 */
async function addUsers(
  jobs: readonly MemoryJob[],
  { database, logbook: { users } }: WriterDeps,
  trx: Transaction,
): Promise<ReadonlyMap<WriteJob, NewUser>> {
  const found = new Map<WriteJob, NewUser>();
  const wanted = jobs.flatMap((job) => (job.newUser === null ? [] : [{ job, userId: job.newUser.userId }]));
  for (const { job, userId } of wanted.sort((a, b) => (a.userId < b.userId ? -1 : 1))) {
    try {
      if (await users.add(userId, {}, { trx })) found.set(job, 'created');
      else if (!(await users.isActive(userId, { trx }))) found.set(job, 'disabled');
    } catch (error) {
      if (database.codec.errorKind(error) !== 'other') throw error;
      throw new NewUserFailed(error);
    }
  }
  return found;
}

async function storeItems(jobs: readonly MemoryJob[], deps: WriterDeps, trx: Transaction): Promise<readonly string[]> {
  if (jobs.length === 0) return [];
  try {
    const items = jobs.map(({ item }) => item);
    return (await deps.backend.storeMany(items, { trx })).map(({ id }) => id);
  } catch (error) {
    if (deps.database.codec.errorKind(error) !== 'other') throw error;
    throw new BackendFailed(error);
  }
}

/** A job of the group with its outcome so far. */
interface Planned {
  readonly job: WriteJob;
  readonly outcome: WriteOutcome;
  /** The job creates its actor as a user. */
  readonly isActorNew: boolean;
}

async function plan(jobs: readonly WriteJob[], deps: WriterDeps, trx: Transaction): Promise<readonly Planned[]> {
  const memories = jobs.filter((job) => job.kind === 'memory');
  const hits = await deps.logbook.ledger.findDuplicates(
    memories.map(({ row }) => row),
    { trx },
  );
  const hitOf = new Map(memories.map((job, index) => [job, hits[index] ?? null]));
  // The caller retries a memory that another process is writing.
  const settled = memories.filter((job) => hitOf.get(job)?.state !== 'writing');
  const users = await addUsers(settled, deps, trx);
  const fresh = memories.filter((job) => hitOf.get(job) === null && users.get(job) !== 'disabled');
  const whole = fresh.filter(({ phase }) => phase === 'whole');
  const ids = await storeItems(whole, deps, trx);
  const idOf = new Map(whole.map((job, index) => [job, ids[index] ?? '']));
  const outcomeOf = (job: WriteJob): WriteOutcome => {
    if (job.kind === 'audit') return { kind: 'audited' };
    const hit = hitOf.get(job);
    if (hit?.state === 'writing') return { kind: 'busy' };
    if (users.get(job) === 'disabled') return { kind: 'actor_disabled' };
    if (hit !== null && hit !== undefined) return { kind: 'duplicate', hit };
    if (job.phase === 'begin') return { kind: 'begun', auditId: '' };
    return { kind: 'stored', memoryId: idOf.get(job) ?? '' };
  };
  return jobs.map((job) => ({ job, outcome: outcomeOf(job), isActorNew: users.get(job) === 'created' }));
}

function auditOf(job: WriteJob, outcome: WriteOutcome) {
  if (job.kind === 'audit') return job.audit;
  if (outcome.kind === 'duplicate') return job.auditDuplicate(outcome.hit);
  if (outcome.kind === 'stored') return job.auditStored(outcome.memoryId);
  return outcome.kind === 'begun' ? job.auditBegun() : undefined;
}

function auditsOf({ job, outcome, isActorNew }: Planned) {
  const entry = auditOf(job, outcome);
  if (entry === undefined) return [];
  return isActorNew && job.kind === 'memory' && job.newUser !== null ? [job.newUser.audit, entry] : [entry];
}

/**
 * Writes a group in one transaction: search rows, audit rows with their chain, ledger rows.
 *
 * @throws LostRace when another process has stored a memory of the group; the group must then be rolled back.
 */
async function writeGroup(
  jobs: readonly WriteJob[],
  deps: WriterDeps,
  trx: Transaction,
): Promise<readonly WriteOutcome[]> {
  const planned = await plan(jobs, deps, trx);
  const entries = planned.map(auditsOf);
  const auditIds = await deps.audit.writeMany(entries.flat(), { trx });
  let next = 0;
  const audited = planned.map(({ job, outcome }, index) => {
    next += entries[index]?.length ?? 0;
    // The last of the job's audit rows is the one about the memory.
    const auditId = auditIds[next - 1] ?? '';
    return { job, auditId, outcome: outcome.kind === 'begun' ? { ...outcome, auditId } : outcome };
  });
  const rows = audited.flatMap(({ job, outcome, auditId }) => {
    if (job.kind !== 'memory' || (outcome.kind !== 'stored' && outcome.kind !== 'begun')) return [];
    return {
      ...job.row,
      backend: deps.backend.backend,
      backendMemoryId: outcome.kind === 'stored' ? outcome.memoryId : null,
      auditId,
      outboxId: null,
    };
  });
  const inserted = await deps.logbook.ledger.insert(rows, { trx });
  if (inserted.size < rows.length) throw new LostRace();
  return audited.map(({ outcome }) => outcome);
}

/** Writes memories and audit rows. Concurrent jobs share one transaction. */
export type Writer = GroupCommit<WriteJob, WriteOutcome>;

export function createWriter(deps: WriterDeps): Writer {
  return createTransactionGroup<WriteJob, WriteOutcome>(
    deps.database,
    (jobs, trx) => writeGroup(jobs, deps, trx),
    // The race was lost to a committed memory, so a retry finds it. After a deadlock the other transaction goes on.
    { retries: (error) => error instanceof LostRace || deps.database.codec.errorKind(error) === 'busy' },
  );
}
