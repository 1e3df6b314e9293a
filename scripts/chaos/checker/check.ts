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

/** Everything that must not be, by the rule it breaks. Nothing of the product is asked. */
export function check(evidence: Evidence): readonly Violation[] {
  return Object.entries(rules).flatMap(([rule, look]) => [...look(evidence)].map((what) => ({ rule, what })));
}
