import type { LedgerMemory } from 'mortise/contracts/logbook';
import type { ReconcileParts } from '../parts.js';
import {
  type BackendFinding,
  compareMemory,
  extraMemory,
  type FindingKind,
  type SeenMemory,
} from './compare-memory.js';
import { giveUpMemory } from './give-up-memory.js';
import { listBackend, readBackend } from './read-backend.js';
import { repairMemory } from './repair-memory.js';

/** The backend in numbers, and each difference by name. */
export interface BackendCheck extends Readonly<Record<FindingKind, number>> {
  /** Memories of the ledger that were compared. */
  readonly checked: number;
  readonly repaired: number;
  readonly duration_ms: number;
  readonly findings: readonly BackendFinding[];
}

const PAGE = 500;

/** Texts that belong to a memory of the ledger other than the one that is asked about. */
async function ownersOf(
  shas: readonly string[],
  { logbook }: ReconcileParts,
): Promise<ReadonlyMap<string, Set<string>>> {
  const owners = new Map<string, Set<string>>();
  for (const { payloadSha, memoryKey } of await logbook.ledger.byPayloads(shas)) {
    owners.set(payloadSha, (owners.get(payloadSha) ?? new Set()).add(memoryKey));
  }
  return owners;
}

async function comparePage(
  memories: readonly LedgerMemory[],
  seen: ReadonlyMap<string, SeenMemory>,
  parts: ReconcileParts,
): Promise<readonly (readonly [LedgerMemory, BackendFinding])[]> {
  const seenOf = ({ backendMemoryId }: LedgerMemory) => seen.get(backendMemoryId ?? '');
  const strange = memories.flatMap((memory) => {
    const sha = seenOf(memory)?.sha;
    return sha === undefined || sha === memory.payloadSha ? [] : [sha];
  });
  const owners = await ownersOf([...new Set(strange)], parts);
  return memories.flatMap((memory) => {
    const isOthers = (sha: string) => [...(owners.get(sha) ?? [])].some((key) => key !== memory.memoryKey);
    const found = compareMemory(memory, seenOf(memory), isOthers);
    return found === undefined ? [] : [[memory, found] as const];
  });
}

/** Memories that carry our mark and that the ledger does not know. */
async function findExtra(seen: Iterable<SeenMemory>, { logbook }: ReconcileParts): Promise<readonly BackendFinding[]> {
  const marked = [...seen].filter(({ memoryKey }) => memoryKey !== undefined);
  const extra: BackendFinding[] = [];
  for (let at = 0; at < marked.length; at += PAGE) {
    const some = marked.slice(at, at + PAGE);
    const rows = await logbook.ledger.byKeys(some.map(({ memoryKey }) => memoryKey ?? ''));
    const known = new Set(rows.map(({ memoryKey }) => memoryKey));
    extra.push(...some.filter(({ memoryKey }) => !known.has(memoryKey ?? '')).map(extraMemory));
  }
  return extra;
}

/**
 * Compares every memory that should be in the backend with what is there: by its listing where it has one, else one
 * by one. Where that is wanted, what it lost or altered is sent again.
 */
export async function checkBackend(
  parts: ReconcileParts,
  options: { readonly repairs: boolean; readonly signal: AbortSignal },
): Promise<BackendCheck> {
  const { logbook, memory } = parts;
  const began = performance.now();
  const listed = await listBackend(memory, options.signal);
  const findings: BackendFinding[] = [];
  let [checked, repaired, after] = [0, 0, 0];
  for (;;) {
    options.signal.throwIfAborted();
    const page = await logbook.ledger.page({ after, limit: PAGE, backend: memory.backend, states: ['active'] });
    const ids = page.flatMap(({ backendMemoryId }) => (backendMemoryId === null ? [] : [backendMemoryId]));
    const seen = listed ?? (await readBackend(memory, ids, options.signal));
    for (const [row, found] of await comparePage(page, seen, parts)) {
      // A listing may be older than the memory: nothing is said to be missing that a second look finds.
      const again = listed === undefined || found.finding !== 'missing' ? undefined : await lookAgain(row, parts);
      if (again === true) continue;
      findings.push(found);
      if (!options.repairs) continue;
      if (await repairMemory(row, found, parts)) repaired += 1;
      else await giveUpMemory(row, found, parts);
    }
    checked += page.length;
    after = page.at(-1)?.seq ?? after;
    if (page.length < PAGE) break;
  }
  if (listed !== undefined) findings.push(...(await findExtra(listed.values(), parts)));
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

/** True when the backend has the memory after all, and as it should be. */
async function lookAgain({ backendMemoryId, payloadSha }: LedgerMemory, { memory }: ReconcileParts): Promise<boolean> {
  const id = backendMemoryId ?? '';
  const seen = (await readBackend(memory, [id], new AbortController().signal)).get(id);
  return seen?.sha === payloadSha;
}
