import type { ReconcileOptions } from '../options.js';
import type { ReconcileParts } from '../parts.js';
import type { Detail, Round, StatusCount } from './findings.js';
import { mendSettled } from './mend-settled.js';
import { mendStale } from './mend-stale.js';

const MOST_ROUNDS = 1_000;

async function oneRound(options: ReconcileOptions, parts: ReconcileParts): Promise<Round> {
  const { details: sentDetails, ...sent } = await mendSettled('sent', options, parts);
  const { details: deadDetails, ...dead } = await mendSettled('dead', options, parts);
  const { scanned, stale, details } = await mendStale(options, parts);
  return {
    scanned: sent.count + dead.count + scanned,
    sent,
    dead,
    stale,
    details: [...sentDetails, ...deadDetails, ...details],
  };
}

const missed = ({ missing_audit, fixed }: StatusCount): number => missing_audit - fixed;
const waiting = ({ scanned, sent, dead }: Round): number => scanned - sent.count - dead.count;
const rowsOf = (details: readonly Detail[], status: Detail['status']): number =>
  new Set(details.filter((one) => one.status === status).map(({ outbox_id }) => outbox_id)).size;

/**
 * What all rounds came to. Rows that several looked at are counted once, what was mended is added up, and what is still
 * amiss is what the last one found.
 */
function together(earlier: readonly Round[], last: Round): Round {
  const rounds = [...earlier, last];
  const details = [...earlier.flatMap((round) => round.details.filter(({ fixed }) => fixed)), ...last.details];
  const audits = (status: 'sent' | 'dead' | 'stale') => {
    const fixed = rounds.reduce((sum, round) => sum + round[status].fixed, 0);
    return { missing_audit: fixed + missed(last[status]), fixed };
  };
  const settled = (status: 'sent' | 'dead') => ({
    count: Math.max(last[status].count, rowsOf(details, status)),
    ...audits(status),
  });
  const [sent, dead] = [settled('sent'), settled('dead')];
  const staleRows = rowsOf(details, 'stale');
  const rescheduled = rounds.reduce((sum, { stale }) => sum + stale.rescheduled, 0);
  return {
    scanned: sent.count + dead.count + Math.max(waiting(last), staleRows),
    sent,
    dead,
    stale: { count: staleRows, ...audits('stale'), rescheduled },
    details,
  };
}

/** Whether another round could find what this one did not get to: it found something, and did something about it. */
function goesOn({ sent, dead, stale }: Round): boolean {
  return sent.fixed + dead.fixed + stale.fixed + stale.rescheduled > 0;
}

/** Holds outbox and audit trail against each other: one round, or as many as it takes. */
export async function reconcileBooks(
  options: ReconcileOptions,
  parts: ReconcileParts,
  signal: AbortSignal,
): Promise<Round> {
  const earlier: Round[] = [];
  let last = await oneRound(options, parts);
  while (options.untilClean && goesOn(last) && earlier.length + 1 < MOST_ROUNDS) {
    signal.throwIfAborted();
    earlier.push(last);
    last = await oneRound(options, parts);
  }
  return earlier.length === 0 ? last : together(earlier, last);
}
