import { randomFillSync } from 'node:crypto';
import {
  isJsonObject,
  isUnstorableText,
  type Observation,
  type ObservationActor,
  type ObservationError,
  type ObservationInput,
  type ObservationType,
  type QualityFlag,
} from 'mortise/sdk';
import { frozenCopy } from './frozen-copy.js';
import { checkPayload } from './payload.js';
import {
  controlCharacters,
  isText,
  noMetadata,
  oneOf,
  type ReportProblem,
  readActor,
  readMetadata,
  readTime,
  timeOf,
} from './read-members.js';
import type { RouteFacts } from './route-observation.js';

const types = ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] as const;
const kinds = ['external', 'internal'] as const;
const ingresses = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'] as const;
const hex32 = /^[0-9a-f]{32}$/;
const correlation = /^corr-[0-9a-f]{16}$/;
const noTags: readonly never[] = Object.freeze([]);

type ReadObservation =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly errors: readonly ObservationError[] };

type Draft = { -readonly [Member in keyof Observation]: Observation[Member] };

/**
 * Turns a producer's input into a published observation: complete, valid, frozen in depth, and in the session that `route`
 * returns.
 * All errors are reported together; unknown members are ignored. Throws only when a member of the input throws on access.
 *
 * @param now epoch milliseconds
 */
export function readObservation(
  input: ObservationInput,
  now: number,
  route: (facts: RouteFacts) => string | ObservationError,
): ReadObservation {
  if (!isJsonObject(input)) return { ok: false, errors: [notAnObject] };
  let errors: ObservationError[] | undefined;
  const report: ReportProblem = (path, code, message) => {
    errors ??= [];
    errors.push({ path, code, message });
  };
  const type = oneOf(input.obs_type ?? 'message', types, 'obs_type', report);
  const source = readSource(input.source_name, report);
  const sourceKind = oneOf(input.source_kind ?? 'external', kinds, 'source_kind', report);
  const ingress = oneOf(input.ingress ?? 'internal', ingresses, 'ingress', report);
  const timestamp = readTime(input.timestamp, now, report);
  const key = readSessionKey(input.session_key, type, report);
  const actor = readActor(input.actor, report);
  const confidence = readConfidence(input.confidence, report);
  const tags = readTags(input.tags, report);
  const given = readMetadata(input.metadata, report);
  const payload = checkPayload(type, input.payload, report);
  const evidence = readEvidence(input.evidence, report);
  if (errors) return { ok: false, errors };

  const sessionKey = route({ type, source, key, actorId: actor?.actor_id });
  if (!isText(sessionKey)) return { ok: false, errors: [sessionKey] };
  // Observations of the platform are moved to its own session; the key they carried is recorded.
  const moved = key !== undefined && key !== sessionKey && type !== 'message' && type !== 'world_data';
  const metadata = moved ? { ...given, origin_session_key: key } : given;
  const observation: Draft = {
    obs_id: newHexId(),
    obs_type: type,
    source_name: source,
    source_kind: sourceKind,
    ingress,
    timestamp,
    received_at: timeOf(now),
    session_key: sessionKey,
    payload,
    quality_flags: qualityFlags({ type, ingress, key, actor, payload, confidence, given: input.quality_flags }),
    confidence,
    tags,
    metadata: metadata === noMetadata ? noMetadata : Object.freeze(metadata),
    trace_id: isText(input.trace_id) && hex32.test(input.trace_id) ? input.trace_id : newHexId(),
    correlation_id:
      isText(input.correlation_id) && correlation.test(input.correlation_id)
        ? input.correlation_id
        : newCorrelationId(),
    hop: Number.isSafeInteger(input.hop) && (input.hop ?? 0) > 0 ? Number(input.hop) : 0,
    parent_obs_id: input.parent_obs_id ?? null,
  };
  if (actor) observation.actor = actor;
  if (evidence) observation.evidence = evidence;
  return { ok: true, observation: Object.freeze(observation) };
}

const notAnObject: ObservationError = {
  path: '',
  code: 'payload_mismatch',
  message: 'an observation must be an object',
};

function readSource(value: unknown, report: ReportProblem): string {
  if (!isText(value) || value.trim() === '') report('source_name', 'required', 'source_name must not be blank');
  else if (value.length > 128) report('source_name', 'too_long', 'source_name must have at most 128 characters');
  return isText(value) ? value : '';
}

function readSessionKey(key: unknown, type: Observation['obs_type'], report: ReportProblem): string | undefined {
  if (key === undefined || key === null) return undefined;
  if (!isText(key)) {
    report('session_key', 'payload_mismatch', 'session_key must be a text');
    return undefined;
  }
  if (key.trim() === '') return undefined;
  if (key.length > 1_024 || controlCharacters.test(key)) {
    report('session_key', 'too_long', 'session_key must have at most 1024 characters and no control characters');
  } else if (isUnstorableText(key)) {
    // The database would replace the surrogate, and different keys would become equal.
    report('session_key', 'payload_mismatch', 'session_key must not have lone surrogates');
  }
  if (key === 'system' && (type === 'message' || type === 'world_data')) {
    report('session_key', 'reserved', 'the session "system" belongs to the platform');
  }
  return key;
}

function readConfidence(value: unknown, report: ReportProblem): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
    report('confidence', 'range', 'confidence must be between 0 and 1');
    return null;
  }
  return value;
}

function readTags(value: unknown, report: ReportProblem): readonly string[] {
  if (value === undefined || value === null) return noTags;
  if (!Array.isArray(value) || value.length > 32 || !value.every((tag) => isText(tag) && tag.length <= 64)) {
    report('tags', 'too_long', 'tags must be at most 32 texts of at most 64 characters');
    return noTags;
  }
  return Object.freeze([...new Set<string>(value)].sort());
}

function readEvidence(value: unknown, report: ReportProblem): Observation['evidence'] {
  if (value === undefined || value === null) return undefined;
  if (isJsonObject(value)) return frozenCopy(value);
  report('evidence', 'payload_mismatch', 'evidence must be an object');
  return undefined;
}

interface FlagFacts {
  readonly type: ObservationType;
  readonly ingress: Observation['ingress'];
  /** As given. */
  readonly key: string | undefined;
  readonly actor: ObservationActor | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly confidence: number | null;
  /** The producer's flags. */
  readonly given: unknown;
}

/** Flags that only the producer can know. */
const producerFlags: readonly QualityFlag[] = ['TRUNCATED'];

const none: readonly QualityFlag[] = Object.freeze([]);

/** The flags that validation can set: sorted, frozen. Most observations have none. */
function qualityFlags({ type, ingress, key, actor, payload, confidence, given }: FlagFacts) {
  const flags = Array.isArray(given) ? producerFlags.filter((flag) => given.includes(flag)) : [];
  const attachments = Array.isArray(payload.attachments) ? payload.attachments : none;
  if (type === 'message') {
    if (ingress !== 'api' && attachments.length === 0 && isBlank(payload)) flags.push('EMPTY_CONTENT');
    if (key === undefined) flags.push('MISSING_SESSION');
    if (actor?.actor_id === undefined) flags.push('MISSING_IDENTITY');
  }
  if (confidence !== null && confidence < 0.3) flags.push('LOW_CONFIDENCE');
  if (attachments.some((item) => isJsonObject(item) && (item.kind ?? 'unknown') === 'unknown'))
    flags.push('UNSUPPORTED');
  return flags.length === 0 ? none : Object.freeze(flags.sort());
}

/** Neither text nor a tool call. */
function isBlank({ text, extra }: FlagFacts['payload']): boolean {
  const blank = typeof text !== 'string' || text.trim() === '';
  return blank && !(isJsonObject(extra) && extra.tool_call !== undefined);
}

/** Random bytes for many ids: one system call for each id would cost more than the rest of the validation. */
const pool = Buffer.allocUnsafe(8_192);
let used = pool.length;

/** 32 lower-case hex digits. */
function newHexId(): string {
  return randomHex(16);
}

function newCorrelationId(): string {
  return `corr-${randomHex(8)}`;
}

function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

/** An observation that continues the trace of its parent: same trace, correlation and session, one hop further. */
export function derive(parent: Observation, fields: ObservationInput): ObservationInput {
  const { session_key: target, metadata } = fields;
  const leaves = target !== undefined && target !== parent.session_key;
  return {
    session_key: parent.session_key,
    ...fields,
    // A message to another session names the session it comes from.
    ...(leaves ? { metadata: { ...metadata, origin_session_key: parent.session_key } } : {}),
    trace_id: parent.trace_id,
    correlation_id: parent.correlation_id,
    hop: parent.hop + 1,
    parent_obs_id: parent.obs_id,
  };
}
