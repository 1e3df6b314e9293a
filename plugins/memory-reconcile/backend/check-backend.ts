import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { ReconcileDeps } from '../options.js';
import {
  type BackendFinding,
  compareMemory,
  extraMemory,
  type FindingKind,
  type StoredCopy,
} from './compare-memory.js';
import { listBackend, readBackend } from './read-backend.js';
import { repairMemory, voidMemory } from './repair-memory.js';

/** Result of comparing ledger and backend. */
export interface BackendCheck extends Readonly<Record<FindingKind, number>> {
  /** Memories of the ledger that were compared. */
  readonly checked: number;
  readonly repaired: number;
  readonly duration_ms: number;
  readonly findings: readonly BackendFinding[];
}

const PAGE = 500;

/** Memory keys by text hash. */
async function ownersOf(
  shas: readonly string[],
  { logbook }: ReconcileDeps,
): Promise<ReadonlyMap<string, Set<string>>> {
  const owners = new Map<string, Set<string>>();
  for (const { payloadSha, memoryKey } of await logbook.ledger.byPayloads(shas)) {
    owners.set(payloadSha, (owners.get(payloadSha) ?? new Set()).add(memoryKey));
  }
  return owners;
}

async function comparePage(
  memories: readonly LedgerMemory[],
  seen: ReadonlyMap<string, StoredCopy>,
  deps: ReconcileDeps,
): Promise<readonly (readonly [LedgerMemory, BackendFinding])[]> {
  const copyOf = ({ backendMemoryId }: LedgerMemory) => seen.get(backendMemoryId ?? '');
  const unexpected = memories.flatMap((memory) => {
    const sha = copyOf(memory)?.sha;
    return sha === undefined || sha === memory.payloadSha ? [] : [sha];
  });
  const owners = await ownersOf([...new Set(unexpected)], deps);
  return memories.flatMap((memory) => {
    const isOtherMemory = (sha: string) => [...(owners.get(sha) ?? [])].some((key) => key !== memory.memoryKey);
    const found = compareMemory(memory, copyOf(memory), isOtherMemory);
    return found === undefined ? [] : [[memory, found] as const];
  });
}

/** Memories with a memory key that is not in the ledger. */
async function findExtra(seen: Iterable<StoredCopy>, { logbook }: ReconcileDeps): Promise<readonly BackendFinding[]> {
  const keyed = [...seen].filter(({ memoryKey }) => memoryKey !== undefined);
  const extra: BackendFinding[] = [];
  for (let at = 0; at < keyed.length; at += PAGE) {
    const page = keyed.slice(at, at + PAGE);
    const rows = await logbook.ledger.byKeys(page.map(({ memoryKey }) => memoryKey ?? ''));
    const known = new Set(rows.map(({ memoryKey }) => memoryKey));
    extra.push(...page.filter(({ memoryKey }) => !known.has(memoryKey ?? '')).map(extraMemory));
  }
  return extra;
}

/**
 * Compares every memory that should be in the backend with its listing, or one by one when it cannot list. With
 * `repairs`, lost and altered memories are queued again.
 */
export async function checkBackend(
  deps: ReconcileDeps,
  options: { readonly repairs: boolean; readonly signal: AbortSignal },
): Promise<BackendCheck> {
  const { logbook, memory } = deps;
  const began = performance.now();
  const listed = await listBackend(memory, options.signal);
  const findings: BackendFinding[] = [];
  let [checked, repaired, after] = [0, 0, 0];
  for (;;) {
    options.signal.throwIfAborted();
    const page = await logbook.ledger.page({ after, limit: PAGE, backend: memory.backend, states: ['active'] });
    const ids = page.flatMap(({ backendMemoryId }) => (backendMemoryId === null ? [] : [backendMemoryId]));
    const seen = listed ?? (await readBackend(memory, ids, options.signal));
    for (const [row, found] of await comparePage(page, seen, deps)) {
      // The listing may be older than the memory: confirm with a direct read before reporting it missing.
      const confirmed =
        listed === undefined || found.finding !== 'missing' ? undefined : await existsUnchanged(row, deps);
      if (confirmed === true) continue;
      findings.push(found);
      if (!options.repairs) continue;
      if (await repairMemory(row, found, deps)) repaired += 1;
      else await voidMemory(row, found, deps);
    }
    checked += page.length;
    after = page.at(-1)?.seq ?? after;
    if (page.length < PAGE) break;
  }
  if (listed !== undefined) findings.push(...(await findExtra(listed.values(), deps)));
  const count = (kind: FindingKind) => findings.filter(({ finding }) => finding === kind).length;
  return {
    checked,
    missing: count('missing'),
    merged: count('merged'),
    altered: count('altered'),
    moved: count('moved'),
    extra: count('extra'),
    repaired,
    duration_ms: Math.round(performance.now() - began),
    findings,
  };
}

/** Whether a direct read finds the memory unchanged. */
async function existsUnchanged(
  { backendMemoryId, payloadSha }: LedgerMemory,
  { memory }: ReconcileDeps,
): Promise<boolean> {
  const id = backendMemoryId ?? '';
  const seen = (await readBackend(memory, [id], new AbortController().signal)).get(id);
  return seen?.sha === payloadSha;
}
