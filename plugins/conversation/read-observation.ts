import { isUnstorableText, type Observation, type ObservationError, type ObservationInput } from 'mortise/sdk';
import { newCorrelationId, newHexId } from './new-ids.js';
import { checkPayload } from './payload.js';
import { isObject, isText, oneOf, type Problems } from './problems.js';
import { qualityFlags } from './quality-flags.js';
import { readActor } from './read-actor.js';
import { noMetadata, readMetadata } from './read-metadata.js';
import { readTime, timeOf } from './read-time.js';
import type { RouteFacts } from './route-observation.js';

const types = ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] as const;
const kinds = ['external', 'internal'] as const;
const ingresses = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'] as const;
const hex32 = /^[0-9a-f]{32}$/;
const correlation = /^corr-[0-9a-f]{16}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;
const noTexts: readonly never[] = Object.freeze([]);

export type ReadObservation =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly errors: readonly ObservationError[] };

type Draft = { -readonly [Member in keyof Observation]: Observation[Member] };

/**
 * Turns what a producer says into a published observation: complete, valid, frozen, and in the session that `route`
 * names, unless that has a fault to tell. All errors are reported together; unknown members are ignored. Never throws.
 *
 * @param now epoch milliseconds
 */
export function readObservation(
  input: ObservationInput,
  now: number,
  route: (facts: RouteFacts) => string | ObservationError,
): ReadObservation {
  if (!isObject(input)) return { ok: false, errors: [notAnObject] };
  let errors: ObservationError[] | undefined;
  const problems: Problems = (path, code, message) => {
    errors ??= [];
    errors.push({ path, code, message });
  };
  const type = oneOf(input.obs_type ?? 'message', types, 'obs_type', problems);
  const source = readSource(input.source_name, problems);
  const sourceKind = oneOf(input.source_kind ?? 'external', kinds, 'source_kind', problems);
  const ingress = oneOf(input.ingress ?? 'internal', ingresses, 'ingress', problems);
  const timestamp = readTime(input.timestamp, now, problems);
  const key = readSessionKey(input.session_key, type, problems);
  const actor = readActor(input.actor, problems);
  const confidence = readConfidence(input.confidence, problems);
  const tags = readTags(input.tags, problems);
  const given = readMetadata(input.metadata, problems);
  const payload = Object.freeze(checkPayload(type, input.payload, problems));
  const evidence = readEvidence(input.evidence, problems);
  if (errors) return { ok: false, errors };

  const sessionKey = route({ type, source, key, actorId: actor?.actor_id });
  if (!isText(sessionKey)) return { ok: false, errors: [sessionKey] };
  // The platform's own go elsewhere than they say: where they meant to go is kept.
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
  message: 'an observation is an object',
};

function readSource(value: unknown, problems: Problems): string {
  if (!isText(value) || value.trim() === '') problems('source_name', 'required', 'source_name must not be blank');
  else if (value.length > 128) problems('source_name', 'too_long', 'source_name must have at most 128 characters');
  return String(value);
}

function readSessionKey(key: unknown, type: Observation['obs_type'], problems: Problems): string | undefined {
  if (key === undefined || key === null) return undefined;
  if (!isText(key)) {
    problems('session_key', 'payload_mismatch', 'session_key must be a text');
    return undefined;
  }
  if (key.trim() === '') return undefined;
  if (key.length > 1_024 || controlCharacters.test(key)) {
    problems('session_key', 'too_long', 'session_key must have at most 1024 characters and no control characters');
  } else if (isUnstorableText(key)) {
    // It would be stored as another name, the same one for many.
    problems('session_key', 'payload_mismatch', 'session_key must not have lone surrogates');
  }
  if (key === 'system' && (type === 'message' || type === 'world_data')) {
    problems('session_key', 'reserved', 'the session "system" belongs to the platform');
  }
  return key;
}

function readConfidence(value: unknown, problems: Problems): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
    problems('confidence', 'range', 'confidence must be between 0 and 1');
    return null;
  }
  return value;
}

function readTags(value: unknown, problems: Problems): readonly string[] {
  if (value === undefined || value === null) return noTexts;
  if (!Array.isArray(value) || value.length > 32 || !value.every((tag) => isText(tag) && tag.length <= 64)) {
    problems('tags', 'too_long', 'tags must be at most 32 texts of at most 64 characters');
    return noTexts;
  }
  return Object.freeze([...new Set<string>(value)].sort());
}

function readEvidence(value: unknown, problems: Problems): Observation['evidence'] {
  if (value === undefined || value === null) return undefined;
  if (isObject(value)) return Object.freeze({ ...value });
  problems('evidence', 'payload_mismatch', 'evidence must be an object');
  return undefined;
}
