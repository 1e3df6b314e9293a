import type { Database, TransactionOption } from 'mortise/sdk';
import { evidenceForm, policyMode } from '../audit/json-facts.js';
import { type AuditGroup, countRows } from './audit-stats.js';

interface FormGroup {
  readonly form: number | null;
  readonly mode: string | null;
  readonly rows: number;
  readonly recent: number;
}

/** Percentage with two decimals; 0 when the whole is 0. */
function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}

function sum(groups: readonly FormGroup[], figure: 'rows' | 'recent', holds: (group: FormGroup) => boolean): number {
  return groups.reduce((total, group) => (holds(group) ? total + group[figure] : total), 0);
}

/** Rows of a table, and how many have a URI that evidence can reference. */
async function uriCoverage(database: Database, text: string, options: TransactionOption) {
  const { rows } = await database.statement<{ total: number; named: number }>(text, [], options);
  const { total = 0, named = 0 } = rows[0] ?? {};
  return { total, with_evidence_uri: named, coverage_pct: percent(named, total) };
}

/** Coverage of writes by hashed evidence. */
export async function evidenceStats(
  database: Database,
  groups: readonly AuditGroup[],
  weekAgo: string,
  options: TransactionOption,
) {
  const form = evidenceForm(database.dialect);
  const mode = policyMode(database.dialect);
  const { rows } = await database.statement<FormGroup>(
    `select form, mode, count(*) as rows, sum(case when created_at >= ? then 1 else 0 end) as recent
     from (select ${form} as form, ${mode} as mode, created_at from {governance.write_audit}) facts
     group by form, mode`,
    [weekAgo],
    options,
  );
  const total = countRows(groups, () => true);
  const hashed = sum(rows, 'rows', ({ form }) => form === 2);
  const withEvidence = sum(rows, 'rows', ({ form }) => form !== null);
  return {
    total_audits_with_v2: hashed,
    coverage_percent: percent(hashed, total),
    patch_blobs: await uriCoverage(
      database,
      'select count(*) as total, count(evidence_uri) as named from {scm.patch_blobs}',
      options,
    ),
    attachments: await uriCoverage(
      database,
      `select count(*) as total, coalesce(sum(case when length(sha256) = 64 then 1 else 0 end), 0) as named
       from {logbook.attachments}`,
      options,
    ),
    v2_coverage_pct: percent(hashed, withEvidence),
    total_with_evidence: withEvidence,
    invalid_evidence_count: countRows(
      groups,
      ({ reason }) => reason?.startsWith('EVIDENCE_VALIDATION_FAILED:') ?? false,
    ),
    audit_mode_stats_7d: {
      total: sum(rows, 'recent', () => true),
      strict_mode_count: sum(rows, 'recent', ({ mode }) => mode === 'strict'),
      compat_mode_count: sum(rows, 'recent', ({ mode }) => mode === 'compat'),
      with_v2_evidence: sum(rows, 'recent', ({ form }) => form === 2),
    },
  };
}
