import type { GovernancePatch } from 'mortise/contracts/logbook';
import {
  type ArgumentReason,
  argumentError,
  isJsonObject,
  isUnstorableJson,
  type JsonObject,
  type Principal,
} from 'mortise/sdk';
import { refuseLostNumbers } from '../errors.js';
import { isStringList } from '../policy/decide.js';
import { checkActorName } from '../store/store-request.js';

/** One request to change the policy. The policy itself is not checked yet. */
export interface UpdateRequest {
  readonly patch: GovernancePatch;
  readonly adminKey: string | null;
  /** The actor that the caller names. */
  readonly claimedActor: string | null;
  /** The claimed actor, else the one the principal is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

const TOOL = 'governance_update';
const MAX_POLICY_BYTES = 65_536;

/** Reads arguments that passed the tool's schema. Null and empty texts count as absent. */
export function readUpdateRequest(
  args: JsonObject,
  { principal, correlationId }: { readonly principal: Principal; readonly correlationId: string },
): UpdateRequest {
  const claimedActor = (args.actor_user_id as string | null | undefined) || null;
  if (claimedActor !== null) checkActorName(TOOL, claimedActor);
  return {
    patch: {
      teamWriteEnabled: (args.team_write_enabled as boolean | null | undefined) ?? undefined,
      policy: (args.policy_json as JsonObject | null | undefined) ?? undefined,
    },
    adminKey: (args.admin_key as string | null | undefined) || null,
    claimedActor,
    actorUserId: claimedActor ?? principal.actor ?? null,
    principal,
    correlationId,
  };
}

/** The allowed values of a policy key. */
interface Rule {
  readonly expected: string;
  isType(value: unknown): boolean;
  /** Whether a value of the right type is allowed. */
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

const texts: Rule = { expected: 'must be a list of strings', isType: isStringList, isValue: always };
const flag: Rule = {
  expected: 'must be true or false',
  isType: (value) => typeof value === 'boolean',
  isValue: always,
};
const text: Rule = { expected: 'must be a string', isType: isText, isValue: always };
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
  isType: isJsonObject,
  isValue: (value) =>
    isJsonObject(value) && Object.entries(value).every(([name, setting]) => guards[name]?.isValue(setting) ?? true),
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
 * Checks a policy: the values of known keys (null removes a key), and that the database can store it.
 * @returns warnings about unknown keys, which are stored.
 * @throws MortiseError `INVALID_PARAM_TYPE` or `INVALID_PARAM_VALUE` (422).
 */
export function checkPolicy(policy: JsonObject): readonly string[] {
  const warnings: string[] = [];
  for (const [key, value] of Object.entries(policy)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined) warnings.push(`unknown policy key: ${key.slice(0, 64)}`);
    else if (value !== null) {
      const reason = problem(rule, value);
      if (reason !== undefined) throw argumentError(TOOL, pointer(key), rule.expected, reason);
    }
  }
  const json = JSON.stringify(policy);
  if (Buffer.byteLength(json) > MAX_POLICY_BYTES) {
    throw argumentError(TOOL, '/policy_json', `must have at most ${MAX_POLICY_BYTES} bytes of JSON`);
  }
  if (isUnstorableJson(json)) throw argumentError(TOOL, '/policy_json', 'must not contain NUL or lone surrogates');
  refuseLostNumbers(TOOL, 'policy_json', policy);
  return warnings;
}
