import type { ReconcileDeps, ReconcileOptions } from '../options.js';
import type { Detail, Round, StatusCount } from '../report.js';
import { repairSettled } from './repair-settled.js';
import { repairStale } from './repair-stale.js';

const MAX_ROUNDS = 1_000;

async function oneRound(options: ReconcileOptions, deps: ReconcileDeps): Promise<Round> {
  const { details: sentDetails, ...sent } = await repairSettled('sent', options, deps);
  const { details: deadDetails, ...dead } = await repairSettled('dead', options, deps);
  const { scanned, stale, details } = await repairStale(options, deps);
  return {
    scanned: sent.count + dead.count + scanned,
    sent,
    dead,
    stale,
    details: [...sentDetails, ...deadDetails, ...details],
  };
}

const unfixed = ({ missing_audit, fixed }: StatusCount): number => missing_audit - fixed;
const pendingRows = ({ scanned, sent, dead }: Round): number => scanned - sent.count - dead.count;
const rowsOf = (details: readonly Detail[], status: Detail['status']): number =>
  new Set(details.filter((one) => one.status === status).map(({ outbox_id }) => outbox_id)).size;

/**
 * Merges all rounds: rows examined several times count once, repairs add up, and audit rows still missing are those of the
 * last round.
 */
function mergeRounds(earlier: readonly Round[], last: Round): Round {
  const rounds = [...earlier, last];
  const details = [...earlier.flatMap((round) => round.details.filter(({ fixed }) => fixed)), ...last.details];
  const audits = (status: 'sent' | 'dead' | 'stale') => {
    const fixed = rounds.reduce((sum, round) => sum + round[status].fixed, 0);
    return { missing_audit: fixed + unfixed(last[status]), fixed };
  };
  const settled = (status: 'sent' | 'dead') => ({
    count: Math.max(last[status].count, rowsOf(details, status)),
    ...audits(status),
  });
  const [sent, dead] = [settled('sent'), settled('dead')];
  const staleRows = rowsOf(details, 'stale');
  const rescheduled = rounds.reduce((sum, { stale }) => sum + stale.rescheduled, 0);
  return {
    scanned: sent.count + dead.count + Math.max(pendingRows(last), staleRows),
    sent,
    dead,
    stale: { count: staleRows, ...audits('stale'), rescheduled },
    details,
  };
}

/** Whether the round repaired something, so that another round may find more. */
function hasProgress({ sent, dead, stale }: Round): boolean {
  return sent.fixed + dead.fixed + stale.fixed + stale.rescheduled > 0;
}

/** Compares outbox and audit trail, in one round or until a round repairs nothing. */
export async function reconcileAudit(
  options: ReconcileOptions,
  deps: ReconcileDeps,
  signal: AbortSignal,
): Promise<Round> {
  const earlier: Round[] = [];
  let last = await oneRound(options, deps);
  while (options.untilClean && hasProgress(last) && earlier.length + 1 < MAX_ROUNDS) {
    signal.throwIfAborted();
    earlier.push(last);
    last = await oneRound(options, deps);
  }
  return earlier.length === 0 ? last : mergeRounds(earlier, last);
}
