import type { LedgerFilters, LedgerMemory } from 'mortise/contracts/logbook';
import { canonicalJson, type Database, jsonTexts, type SqlValue } from 'mortise/sdk';

/** SQL conditions to be joined by `and`, each with its binding. */
export type Condition = readonly [sql: string, binding: SqlValue];

function uriOf(item: Readonly<Record<string, unknown>>): string {
  return typeof item.uri === 'string' ? item.uri : '';
}

/** Whether a memory meets all of the filters. */
export function matchesFilters(memory: LedgerMemory, filters: LedgerFilters): boolean {
  const { kind, createdAfter, createdBefore, evidence, meta, actorUserId } = filters;
  const created = Date.parse(memory.createdAt);
  return (
    (kind === undefined || (memory.kind !== null && kind.includes(memory.kind))) &&
    (createdAfter === undefined || created > Date.parse(createdAfter)) &&
    (createdBefore === undefined || created < Date.parse(createdBefore)) &&
    (evidence === undefined || memory.evidence.some((item) => uriOf(item).includes(evidence))) &&
    (actorUserId === undefined || memory.actorUserId === actorUserId) &&
    Object.entries(meta ?? {}).every(
      ([name, value]) => Object.hasOwn(memory.meta, name) && canonicalJson(memory.meta[name]) === canonicalJson(value),
    )
  );
}

/** The conditions that SQL checks well; {@link matchesFilters} decides on the rows that pass them. */
export function filterConditions(database: Database, filters: LedgerFilters): readonly Condition[] {
  const { kind, createdAfter, createdBefore, actorUserId } = filters;
  const found: Condition[] = [];
  if (kind !== undefined) found.push([`kind in ${jsonTexts(database.dialect)}`, database.codec.json(kind)]);
  if (createdAfter !== undefined) found.push(['created_at > ?', database.codec.time(createdAfter)]);
  if (createdBefore !== undefined) found.push(['created_at < ?', database.codec.time(createdBefore)]);
  if (actorUserId !== undefined) found.push(['actor_user_id = ?', actorUserId]);
  return found;
}
