import type { Dialect } from 'mortise/sdk';
import { outboxIdText } from '../audit/json-facts.js';

/** SQL condition: there is an audit row of the outbox row `o` with this action, whose reason begins with one of these. */
export function isAudited(dialect: Dialect, action: string, reasons: readonly string[]): string {
  const begins = reasons.map((reason) => `substr(a.reason, 1, ${reason.length}) = '${reason}'`);
  return `exists (select 1 from {governance.write_audit} a
    where ${outboxIdText(dialect, 'a.')} = cast(o.outbox_id as text) and a.action = '${action}'
      and (${begins.join(' or ')}))`;
}
