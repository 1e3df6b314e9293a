import type { ReconcileOptions } from '../options.js';
import type { ReconcileParts } from '../parts.js';
import type { Round, StatusCount } from './findings.js';
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

function add(a: StatusCount, b: StatusCount): StatusCount {
  return {
    count: a.count + b.count,
    missing_audit: a.missing_audit + b.missing_audit,
    fixed: a.fixed + b.fixed,
  };
}

function together(a: Round, b: Round): Round {
  return {
    scanned: a.scanned + b.scanned,
    sent: add(a.sent, b.sent),
    dead: add(a.dead, b.dead),
    stale: { ...add(a.stale, b.stale), rescheduled: a.stale.rescheduled + b.stale.rescheduled },
    details: [...a.details, ...b.details],
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
  let last = await oneRound(options, parts);
  let sum = last;
  for (let rounds = 1; options.untilClean && goesOn(last) && rounds < MOST_ROUNDS; rounds += 1) {
    signal.throwIfAborted();
    last = await oneRound(options, parts);
    sum = together(sum, last);
  }
  return sum;
}
