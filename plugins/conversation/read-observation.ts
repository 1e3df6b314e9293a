import type { Observation, ObservationActor, ObservationError, ObservationInput, QualityFlag } from 'mortise/sdk';
import { newCorrelationId, newHexId } from './new-ids.js';
import { checkPayload } from './payload.js';
import { isObject, isText, type Problems } from './problems.js';
import { qualityFlags } from './quality-flags.js';

const types = ['message', 'world_data', 'alert', 'control', 'schedule', 'system'] as const;
const kinds = ['external', 'internal'] as const;
const ingresses = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'] as const;
const actorTypes = ['user', 'system', 'service', 'unknown'] as const;
const withOffset = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;
const hex32 = /^[0-9a-f]{32}$/;
const correlation = /^corr-[0-9a-f]{16}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;
const metadataBytes = 16 * 1024;

export type ReadObservation =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly errors: readonly ObservationError[] };

/**
 * Turns what a producer says into a published observation: complete, frozen and valid. All errors are reported
 * together; unknown members are ignored.
 *
 * @param now epoch milliseconds
 */
export function readObservation(input: ObservationInput, now: number): ReadObservation {
  const errors: ObservationError[] = [];
  const problems: Problems = (path, code, message) => errors.push({ path, code, message });
  const obsType = oneOf(input.obs_type ?? 'message', types, 'obs_type', problems);
  const sourceName = readSource(input.source_name, problems);
  const sourceKind = oneOf(input.source_kind ?? 'external', kinds, 'source_kind', problems);
  const ingress = oneOf(input.ingress ?? 'internal', ingresses, 'ingress', problems);
  const timestamp = readTime(input.timestamp, now, problems);
  const sessionKey = readSessionKey(input, problems);
  const actor = readActor(input.actor, problems);
  const confidence = readConfidence(input.confidence, problems);
  const tags = readTags(input.tags, problems);
  const metadata = readMetadata(input.metadata, problems);
  const payload = checkPayload(obsType, input.payload, problems);
  if (errors.length > 0) return { ok: false, errors };

  const observation: Observation = {
    obs_id: newHexId(),
    obs_type: obsType,
    source_name: sourceName,
    source_kind: sourceKind,
    ingress,
    timestamp,
    received_at: new Date(now).toISOString(),
    ...(sessionKey === undefined ? {} : { session_key: sessionKey }),
    ...(actor === undefined ? {} : { actor: Object.freeze(actor) }),
    payload: Object.freeze(payload),
    ...(input.evidence === undefined ? {} : { evidence: Object.freeze({ ...input.evidence }) }),
    quality_flags: Object.freeze(
      qualityFlags({
        obsType,
        ingress,
        sessionKey,
        actor,
        payload,
        confidence,
        given: givenFlags(input.quality_flags),
      }),
    ),
    confidence,
    tags: Object.freeze(tags),
    metadata: Object.freeze(metadata),
    trace_id: hex32.test(input.trace_id ?? '') ? String(input.trace_id) : newHexId(),
    correlation_id: correlation.test(input.correlation_id ?? '') ? String(input.correlation_id) : newCorrelationId(),
    hop: Number.isSafeInteger(input.hop) && (input.hop ?? 0) > 0 ? Number(input.hop) : 0,
    parent_obs_id: input.parent_obs_id ?? null,
  };
  return { ok: true, observation: Object.freeze(observation) };
}

/** A change makes a new observation with the same id. */
export function withSessionKey(observation: Observation, key: string): Observation {
  if (observation.session_key === key) return observation;
  const origin = observation.session_key;
  const moved = origin !== undefined && observation.obs_type !== 'message' && observation.obs_type !== 'world_data';
  const metadata = moved ? { ...observation.metadata, origin_session_key: origin } : observation.metadata;
  return Object.freeze({ ...observation, session_key: key, metadata: Object.freeze(metadata) });
}

/** What continues the trace of another observation: same trace, correlation and session, one hop further. */
export function derive(parent: Observation, fields: ObservationInput): ObservationInput {
  const { session_key: target, metadata } = fields;
  const leaves = target !== undefined && target !== parent.session_key;
  return {
    session_key: parent.session_key,
    ...fields,
    // Whoever speaks to another session says from which one.
    ...(leaves ? { metadata: { ...metadata, origin_session_key: parent.session_key } } : {}),
    trace_id: parent.trace_id,
    correlation_id: parent.correlation_id,
    hop: parent.hop + 1,
    parent_obs_id: parent.obs_id,
  };
}

function readSource(value: unknown, problems: Problems): string {
  if (!isText(value) || value.trim() === '') problems('source_name', 'required', 'source_name must not be blank');
  else if (value.length > 128) problems('source_name', 'too_long', 'source_name must have at most 128 characters');
  return String(value);
}

function readTime(value: string | undefined, now: number, problems: Problems): string {
  if (value === undefined) return new Date(now).toISOString();
  const at = isText(value) && withOffset.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) {
    problems('timestamp', 'naive_datetime', 'timestamp must be an RFC 3339 time with an offset');
    return '';
  }
  return new Date(at).toISOString();
}

function readSessionKey(input: ObservationInput, problems: Problems): string | undefined {
  const key = input.session_key;
  if (key === undefined || key === null || !isText(key) || key.trim() === '') return undefined;
  if (key.length > 1_024 || controlCharacters.test(key)) {
    problems('session_key', 'too_long', 'session_key must have at most 1024 characters and no control characters');
  }
  const type = input.obs_type ?? 'message';
  if (key === 'system' && (type === 'message' || type === 'world_data')) {
    problems('session_key', 'reserved', 'the session "system" belongs to the platform');
  }
  return key;
}

function readActor(value: ObservationInput['actor'], problems: Problems): ObservationActor | undefined {
  if (value === undefined || value === null) return undefined;
  const actorType = oneOf(value.actor_type ?? 'unknown', actorTypes, 'actor.actor_type', problems);
  const { actor_id, display_name, tenant_id, extra } = value;
  return {
    actor_type: actorType,
    ...(isText(actor_id) && actor_id !== '' ? { actor_id } : {}),
    ...(isText(display_name) ? { display_name } : {}),
    ...(isText(tenant_id) ? { tenant_id } : {}),
    ...(isObject(extra) ? { extra } : {}),
  };
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
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > 32 || !value.every((tag) => isText(tag) && tag.length <= 64)) {
    problems('tags', 'too_long', 'tags must be at most 32 strings of at most 64 characters');
    return [];
  }
  return [...new Set<string>(value)].sort();
}

function readMetadata(value: unknown, problems: Problems): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isObject(value) || Buffer.byteLength(JSON.stringify(value)) > metadataBytes) {
    problems('metadata', 'too_long', 'metadata must be an object of at most 16 KiB');
    return {};
  }
  return { ...value };
}

function givenFlags(value: unknown): readonly QualityFlag[] {
  return Array.isArray(value) ? (value as QualityFlag[]) : [];
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], path: string, problems: Problems): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) problems(path, 'enum', `${path} must be one of: ${allowed.join(', ')}`);
  return found ?? (allowed[0] as T);
}
