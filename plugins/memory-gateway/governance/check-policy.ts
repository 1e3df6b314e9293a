import { type ArgumentReason, argumentError } from '../argument-error.js';
import { TOOL } from './update-request.js';

/** What a policy key takes: its type, and what may be wrong within it. */
interface Rule {
  readonly expected: string;
  isType(value: unknown): boolean;
  isValue(value: unknown): boolean;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const always = (): boolean => true;

function oneOf(...allowed: readonly string[]): Rule {
  return {
    expected: `must be one of ${allowed.join(', ')}`,
    isType: isText,
    isValue: (value) => isText(value) && allowed.includes(value),
  };
}

const texts: Rule = {
  expected: 'must be a list of texts',
  isType: (value) => Array.isArray(value) && value.every(isText),
  isValue: always,
};
const flag: Rule = {
  expected: 'must be true or false',
  isType: (value) => typeof value === 'boolean',
  isValue: always,
};
const text: Rule = { expected: 'must be a text', isType: isText, isValue: always };
const limit: Rule = {
  expected: 'must be a whole number from 0',
  isType: (value) => typeof value === 'number' && Number.isInteger(value),
  isValue: (value) => typeof value === 'number' && value >= 0 && Number.isSafeInteger(value),
};

const guards: Readonly<Record<string, Rule>> = {
  diff: oneOf('off', 'reject'),
  log: oneOf('off', 'reject'),
  secret: oneOf('off', 'warn', 'reject', 'redact'),
};
const guard: Rule = {
  expected: 'must be an object with diff and log (off, reject) and secret (off, warn, reject, redact)',
  isType: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  isValue: (value) =>
    Object.entries(value as object).every(([name, setting]) => guards[name]?.isValue(setting) ?? true),
};

const rules: Readonly<Record<string, Rule>> = {
  allowlist_users: texts,
  allowed_kinds: texts,
  require_evidence: flag,
  evidence_mode: text,
  max_chars: limit,
  bulk_mode: oneOf('very_short', 'reject', 'allow'),
  bulk_max_chars: limit,
  dedup: oneOf('exact', 'off'),
  content_guard: guard,
};

function pointer(key: string): string {
  return `/policy_json/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function problem(rule: Rule, value: unknown): ArgumentReason | undefined {
  if (!rule.isType(value)) return 'INVALID_PARAM_TYPE';
  return rule.isValue(value) ? undefined : 'INVALID_PARAM_VALUE';
}

/**
 * Checks the keys that the policy knows; null removes any.
 * @returns warnings about the others, which are kept.
 * @throws MortiseError `INVALID_PARAM_TYPE` or `INVALID_PARAM_VALUE` (422).
 */
export function checkPolicy(policy: Readonly<Record<string, unknown>>): readonly string[] {
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(policy)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined) warnings.push(`unknown policy key: ${key.slice(0, 64)}`);
    else if (value !== null) {
      const reason = problem(rule, value);
      if (reason !== undefined) throw argumentError(TOOL, pointer(key), rule.expected, reason);
    }
  }
  return warnings;
}
