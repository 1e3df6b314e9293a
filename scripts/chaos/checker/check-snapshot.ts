import { type DatabaseReader, table } from './read-database.js';

const lookups = {
  sqlite: `cast(a.evidence_refs_json->>'outbox_id' as text)`,
  postgres: `a.evidence_refs_json->>'outbox_id'`,
};

/** Compares the number of outbox rows in a state with the number of those that have the matching audit row. */
async function settled(database: DatabaseReader, status: string, action: string, beginning: string): Promise<string[]> {
  const [row] = await database.rows<{ readonly rows: string; readonly audited: string }>(
    `select cast(count(*) as text) as rows, cast(coalesce(sum(case when exists (
       select 1 from ${table(database, 'governance', 'write_audit')} a
       where ${lookups[database.dialect]} = cast(o.outbox_id as text) and a.action = '${action}'
         and a.reason like '${beginning}%') then 1 else 0 end), 0) as text) as audited
     from ${table(database, 'logbook', 'outbox_memory')} o where o.status = '${status}'`,
  );
  const { rows, audited } = row ?? { rows: '0', audited: '0' };
  return rows === audited ? [] : [`1: ${rows} rows are ${status}, and ${audited} of them have the audit row.`];
}

/**
 * Checks the invariants that must hold at any time, even under load. The database counts, so that frequent checks are
 * cheap. @returns the violations
 */
export async function checkSnapshot(database: DatabaseReader): Promise<readonly string[]> {
  const audits = table(database, 'governance', 'write_audit');
  return database.atOnce(async () => {
    const [counts] = await database.rows<{ readonly outages: string; readonly rows: string; readonly odd: string }>(
      `select (select cast(count(*) as text) from ${audits} where action = 'redirect' and reason like 'OPENMEMORY\\_%' escape '\\') as outages,
         (select cast(count(*) as text) from ${table(database, 'logbook', 'outbox_memory')}
          where status in ('pending', 'sent', 'dead')) as rows,
         (select cast(count(*) as text) from ${audits} where action not in ('allow', 'redirect', 'reject')) as odd`,
    );
    const { outages = '', rows = '', odd = '' } = counts ?? {};
    return [
      ...(outages === rows ? [] : [`1: ${outages} outages are audited, and the outbox has ${rows} rows.`]),
      ...(odd === '0' ? [] : [`2: ${odd} audit rows have an unknown action.`]),
      ...(await settled(database, 'sent', 'allow', 'outbox_flush_')),
      ...(await settled(database, 'dead', 'reject', 'outbox_flush_dead')),
    ];
  });
}
