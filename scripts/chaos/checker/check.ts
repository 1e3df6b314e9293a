import type { Evidence, Rule, Violation } from './evidence.js';
import { audited } from './rules/audited.js';
import { chain } from './rules/chain.js';
import { invariants } from './rules/invariants.js';
import { kept } from './rules/kept.js';
import { ledger } from './rules/ledger.js';
import { once } from './rules/once.js';
import { outbox } from './rules/outbox.js';
import { placed } from './rules/placed.js';

const rules: Readonly<Record<string, Rule>> = { kept, placed, once, outbox, ledger, audited, invariants, chain };

/** Returns all violations. Uses no code of the product. */
export function check(evidence: Evidence): readonly Violation[] {
  return Object.entries(rules).flatMap(([rule, check]) => [...check(evidence)].map((what) => ({ rule, what })));
}
