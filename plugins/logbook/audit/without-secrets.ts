import type { AuditEntry } from 'mortise/sdk';
import { redactSecrets } from 'mortise/sdk';

function clean<T extends string | null | undefined>(text: T): T {
  return (typeof text === 'string' ? redactSecrets(text) : text) as T;
}

/** The entry as it may be kept: names that callers choose, of users and spaces, can be secrets too. */
export function withoutSecrets(entry: AuditEntry): AuditEntry {
  const { actorUserId, targetSpace, principal } = entry;
  const cleaned = {
    actorUserId: clean(actorUserId),
    targetSpace: clean(targetSpace),
    principal: clean(principal),
    reason: clean(entry.reason),
  };
  const isClean =
    cleaned.actorUserId === actorUserId &&
    cleaned.targetSpace === targetSpace &&
    cleaned.principal === principal &&
    cleaned.reason === entry.reason;
  // As an entry it must have no member that was not given.
  const given = Object.entries(cleaned).filter(([, value]) => value !== undefined);
  return isClean ? entry : { ...entry, ...Object.fromEntries(given) };
}
