import type { ContentGuardPolicy } from 'mortise/contracts/memory-gateway';
import { redactSecrets } from 'mortise/sdk';
import type { EvidenceItem } from '../store/evidence.js';

type Json = Readonly<Record<string, unknown>>;

interface Reject {
  readonly kind: 'reject';
  readonly type: 'diff' | 'log' | 'secret';
  readonly explanation: string;
}

type GuardVerdict =
  | { readonly kind: 'pass' }
  | Reject
  | { readonly kind: 'warn'; readonly secrets: number }
  | { readonly kind: 'redact'; readonly secrets: number; readonly content: string };

const HUNK = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/gm;
const MIN_HUNKS = 3;

const TIME_STAMP =
  /^\[?\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}|^\[?\d{2}:\d{2}:\d{2}|^[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}/;
const LEVEL = /^\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b/;
const MIN_LINES = 20;
const LOG_SHARE = 0.8;

const MARK = '[REDACTED]';

/** At least three hunks, or a git header with any. */
export function isDiff(content: string): boolean {
  const hunks = content.match(HUNK)?.length ?? 0;
  return hunks >= MIN_HUNKS || (hunks > 0 && /^diff --git /m.test(content));
}

/** At least twenty lines, four fifths of which begin with a time or a level. */
export function isLog(content: string): boolean {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < MIN_LINES) return false;
  return lines.filter((line) => TIME_STAMP.test(line) || LEVEL.test(line)).length >= lines.length * LOG_SHARE;
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Checks one text. Except for redacted content, the verdict never contains the value of a secret. */
export function guardContent(content: string, policy: ContentGuardPolicy, place = 'the content'): GuardVerdict {
  if (policy.diff === 'reject' && isDiff(content)) {
    return { kind: 'reject', type: 'diff', explanation: `${place} is a patch` };
  }
  if (policy.log === 'reject' && isLog(content)) {
    return { kind: 'reject', type: 'log', explanation: `${place} is a log` };
  }
  if (policy.secret === 'off') return { kind: 'pass' };
  const redacted = redactSecrets(content);
  if (redacted === content) return { kind: 'pass' };
  const secrets = Math.max(1, count(redacted, MARK) - count(content, MARK));
  if (policy.secret === 'warn') return { kind: 'warn', secrets };
  if (policy.secret === 'redact') return { kind: 'redact', secrets, content: redacted };
  return { kind: 'reject', type: 'secret', explanation: `${place} holds what looks like a secret` };
}

/** Names whose text is a secret. */
const SECRET_NAME = /(?:api[-_]?key|token|secret|password|passwd|pwd)$/i;

/** Checks a text that has a name: `{"password": "…"}` is treated like `password: …` in a text. */
function guardMember(text: string, name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  const verdict = guardContent(text, policy, place);
  if (verdict.kind !== 'pass' || !SECRET_NAME.test(name)) return verdict;
  const named = guardContent(`secret: ${text}`, { ...policy, diff: 'off', log: 'off' }, place);
  return named.kind === 'redact' ? { ...named, content: MARK } : named;
}

/** A name can be a secret, but neither a patch nor a log. */
function guardName(name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  return guardContent(name, { ...policy, diff: 'off', log: 'off' }, place);
}

/** An identifier that is redacted would refer to something else, so a secret in it is rejected instead. */
function guardIdentifier(name: string, policy: ContentGuardPolicy, place: string): GuardVerdict {
  const verdict = guardName(name, policy, place);
  if (verdict.kind !== 'redact') return verdict;
  const explanation = `${place} holds what looks like a secret, which cannot be removed from a name`;
  return { kind: 'reject', type: 'secret', explanation };
}

/** All free texts of a request. */
interface GuardedTexts {
  readonly payload: string;
  readonly meta: Json;
  /** Objects as given, and plain references as `{uri, sha256: ''}`. */
  readonly evidence: readonly EvidenceItem[];
  readonly kind: string | null;
  readonly space: string;
  readonly actor: string | null;
}

type RequestVerdict =
  | { readonly kind: 'pass' }
  | Reject
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
const MAX_PLACE_LENGTH = 128;

/** A place for messages. Its names come from the caller, so they may be long or contain secrets. */
function shownPlace(path: string): string {
  const clean = redactSecrets(path);
  return clean.length > MAX_PLACE_LENGTH ? `${clean.slice(0, MAX_PLACE_LENGTH - 1)}…` : clean;
}

/**
 * Checks the text of a memory, the texts and member names in its meta and evidence, and its identifiers. The first reject
 * ends the check.
 */
export function guardRequest(texts: GuardedTexts, policy: ContentGuardPolicy): RequestVerdict {
  const { payload, meta, evidence, kind, space, actor } = texts;
  let rejected: Reject | undefined;
  let secrets = 0;
  const places: string[] = [];

  /** Applies a verdict. @returns the text to store. */
  const apply = (text: string, verdict: GuardVerdict, place: string): string => {
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
      return apply(text, guardMember(text, name, policy, place), place);
    },
    name(name, path) {
      if (rejected !== undefined) return name;
      const place = `a name in ${shownPlace(path)}`;
      return apply(name, guardName(name, policy, place), place);
    },
  };

  const cleanPayload = apply(payload, guardContent(payload, policy, PAYLOAD), PAYLOAD);
  for (const [name, place] of [
    [space, '/target_space'],
    [kind, '/kind'],
    [actor, '/actor_user_id'],
  ] as const) {
    if (name !== null && rejected === undefined) apply(name, guardIdentifier(name, policy, place), place);
  }
  const cleanMeta = replaceTexts(meta, '/meta_json', '', visitor) as Json;
  const cleanEvidence = evidence.map(({ stored, uri, isLegacy }, index) =>
    isLegacy
      ? { ...stored, uri: visitor.text(uri ?? '', '/evidence_refs', '') }
      : (replaceTexts(stored, `/evidence/${index}`, '', visitor) as Json),
  );
  if (rejected !== undefined) return rejected;
  if (secrets === 0) return { kind: 'pass' };
  if (policy.secret !== 'redact') return { kind: 'warn', secrets, places };
  return { kind: 'redact', secrets, places, payload: cleanPayload, meta: cleanMeta, evidence: cleanEvidence };
}

/** Visits the texts and member names of a JSON value. Paths are JSON Pointers in which secret names are redacted. */
interface Visitor {
  /** @param name the nearest member name. @returns the text to use instead. */
  text(text: string, path: string, name: string): string;
  /** @param path the object that has the member. @returns the name to use instead. */
  name(name: string, path: string): string;
}

/** A JSON value with its texts and names replaced by the visitor; the same value, by identity, if nothing changed. */
function replaceTexts(value: unknown, path: string, name: string, visitor: Visitor): unknown {
  if (typeof value === 'string') return visitor.text(value, path, name);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => replaceTexts(item, `${path}/${index}`, name, visitor));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const taken = new Set(Object.keys(value));
  let isChanged = false;
  const members = Object.entries(value).map(([key, member]): [string, unknown] => {
    const replaced = replaceTexts(member, `${path}/${pointerSegment(key)}`, key, visitor);
    const shown = visitor.name(key, path);
    if (shown === key) {
      isChanged ||= replaced !== member;
      return [key, replaced];
    }
    isChanged = true;
    return [uniqueName(shown, taken), replaced];
  });
  return isChanged ? Object.fromEntries(members) : value;
}

/** Keeps two different names different after redaction. */
function uniqueName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let number = 2; taken.has(name); number += 1) name = `${wanted} (${number})`;
  taken.add(name);
  return name;
}

/** RFC 6901, section 3. */
function pointerSegment(name: string): string {
  return redactSecrets(name).replaceAll('~', '~0').replaceAll('/', '~1');
}
