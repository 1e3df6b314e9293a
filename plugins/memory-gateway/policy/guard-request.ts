import type { ContentGuardPolicy } from 'mortise/contracts/memory-gateway';
import { redactSecrets } from 'mortise/sdk';
import type { EvidenceItem } from '../evidence/normalise-evidence.js';
import { type GuardVerdict, guardContent } from './content-guard.js';
import { replaceTexts, type Visitor } from './replace-texts.js';

type Json = Readonly<Record<string, unknown>>;

/** All of a request that a caller words freely. */
export interface GuardedTexts {
  readonly payload: string;
  readonly meta: Json;
  /** Objects as given, and plain references as `{uri, sha256: ''}`. */
  readonly evidence: readonly EvidenceItem[];
  readonly kind: string | null;
  readonly space: string;
  readonly actor: string | null;
}

export type RequestVerdict =
  | { readonly kind: 'pass' }
  | Extract<GuardVerdict, { kind: 'reject' }>
  /** `places`: `the content`, or the JSON Pointer of an argument's member. */
  | { readonly kind: 'warn'; readonly secrets: number; readonly places: readonly string[] }
  | {
      readonly kind: 'redact';
      readonly secrets: number;
      readonly places: readonly string[];
      readonly payload: string;
      readonly meta: Json;
      readonly evidence: readonly Json[];
    };

const PAYLOAD = 'the content';
const LONGEST_PLACE = 128;

/** A place as it is told: its names are the caller's, and may be long or secret themselves. */
function shownPlace(path: string): string {
  const clean = redactSecrets(path);
  return clean.length > LONGEST_PLACE ? `${clean.slice(0, LONGEST_PLACE - 1)}…` : clean;
}

/** Names that make a secret of the text they stand for. */
const SECRET_NAME = /(?:api[-_]?key|token|secret|password|passwd|pwd)$/i;

/** A text that has a name: `{"password": "…"}` is looked at as `password: …` is in a text. */
function guardMember(text: string, name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  const verdict = guardContent(text, policy, place);
  if (verdict.kind !== 'pass' || !SECRET_NAME.test(name)) return verdict;
  const named = guardContent(`secret: ${text}`, { ...policy, diff: 'off', log: 'off' }, place);
  return named.kind === 'redact' ? { ...named, content: '[REDACTED]' } : named;
}

/** A name can be a secret, but neither a patch nor a log. */
function guardName(name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  return guardContent(name, { ...policy, diff: 'off', log: 'off' }, place);
}

/** A name that something is known by elsewhere: without its secret it would be another, so that is refused instead. */
function guardKnownName(name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  const verdict = guardName(name, policy, place);
  if (verdict.kind !== 'redact') return verdict;
  const explanation = `${place} holds what looks like a secret, which cannot be taken out of a name`;
  return { kind: 'reject', type: 'secret', explanation };
}

/**
 * Looks through the text of a memory, its meta and its evidence with the names in them, and the names it is to be known
 * by. The first that is refused ends it.
 */
export function guardRequest(texts: GuardedTexts, policy: ContentGuardPolicy): RequestVerdict {
  const { payload, meta, evidence, kind, space, actor } = texts;
  let rejected: Extract<GuardVerdict, { kind: 'reject' }> | undefined;
  let secrets = 0;
  const places: string[] = [];

  const heed = (text: string, verdict: GuardVerdict, place: string): string => {
    if (verdict.kind === 'pass') return text;
    if (verdict.kind === 'reject') {
      rejected ??= verdict;
      return text;
    }
    secrets += verdict.secrets;
    places.push(place);
    return verdict.kind === 'redact' ? verdict.content : text;
  };
  const visitor: Visitor = {
    text(text, path, name) {
      if (rejected !== undefined || text === '') return text;
      const place = shownPlace(path);
      return heed(text, guardMember(text, name, policy, place), place);
    },
    name(name, path) {
      if (rejected !== undefined) return name;
      const place = `a name in ${shownPlace(path)}`;
      return heed(name, guardName(name, policy, place), place);
    },
  };

  const cleanPayload = heed(payload, guardContent(payload, policy, PAYLOAD), PAYLOAD);
  for (const [name, place] of [
    [space, '/target_space'],
    [kind, '/kind'],
    [actor, '/actor_user_id'],
  ] as const) {
    if (name !== null && rejected === undefined) heed(name, guardKnownName(name, policy, place), place);
  }
  const cleanMeta = replaceTexts(meta, '/meta_json', visitor);
  const cleanEvidence = evidence.map(({ stored, uri, isLegacy }, index) =>
    isLegacy
      ? { ...stored, uri: visitor.text(uri ?? '', '/evidence_refs', '') }
      : replaceTexts(stored, `/evidence/${index}`, visitor),
  );
  if (rejected !== undefined) return rejected;
  if (secrets === 0) return { kind: 'pass' };
  if (policy.secret !== 'redact') return { kind: 'warn', secrets, places };
  return { kind: 'redact', secrets, places, payload: cleanPayload, meta: cleanMeta, evidence: cleanEvidence };
}
