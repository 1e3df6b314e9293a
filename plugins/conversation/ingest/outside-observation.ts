import { isUnstorableText, type ObservationError, type ObservationInput, type Principal } from 'mortise/sdk';
import { cutText } from '../cut-text.js';
import { isObject, isText } from '../problems.js';

/** Sources that only the platform may name. */
const reservedPrefixes = [
  'agent:',
  'system:',
  'core:',
  'gate:',
  'cron:',
  'admin:',
  'subagent:',
  'api:',
  'ws:',
  'channel:',
  'timer:',
];

/** What the platform itself says in the metadata. */
const reservedMetadata = ['released_from', 'direction', 'answered_by', 'origin_session_key'];

export const adminTypes: readonly unknown[] = ['control', 'schedule', 'system'];

/**
 * What someone outside says, as the platform takes it: what is the platform's to say is overwritten, and whoever speaks
 * with the name of the platform or of an agent is refused.
 */
export function outsideObservation(
  body: Readonly<Record<string, unknown>>,
  { traceId, correlationId }: { readonly traceId: string; readonly correlationId: string },
): { readonly input: ObservationInput; readonly errors: readonly ObservationError[] } {
  const given = body as Partial<ObservationInput>;
  const errors = [...reservedNames(given), ...unstorable(given.payload)];
  const { obs_type, source_name, timestamp, session_key, actor, evidence, confidence, tags, metadata } = given;
  const payload = obs_type === 'alert' ? alertPayload(given) : (given.payload as ObservationInput['payload']);
  const cut = isObject(payload) ? cutText(payload) : { payload };
  return {
    errors,
    input: {
      obs_type,
      source_name: source_name as string,
      source_kind: 'external',
      ingress: 'ingest',
      timestamp,
      session_key,
      actor,
      ...cut,
      evidence: isObject(evidence) ? evidence : undefined,
      confidence,
      tags,
      metadata: isObject(metadata)
        ? Object.fromEntries(Object.entries(metadata).filter(([name]) => !reservedMetadata.includes(name)))
        : metadata,
      trace_id: traceId,
      correlation_id: correlationId,
    },
  };
}

/** A key that is bound to one person speaks only for that person. */
export function actorAllowed(actor: unknown, principal: Principal): boolean {
  if (principal.actor === undefined) return true;
  return isObject(actor) && actor.actor_id === principal.actor;
}

function reservedNames({ source_name: source, actor }: Partial<ObservationInput>): readonly ObservationError[] {
  const errors: ObservationError[] = [];
  const name = isText(source) ? source.trim().toLowerCase() : '';
  const prefix = reservedPrefixes.find((one) => name.startsWith(one));
  if (prefix !== undefined) {
    errors.push({ path: 'source_name', code: 'reserved', message: `source names with "${prefix}" are the platform's` });
  }
  if (isObject(actor) && actor.actor_id === 'agent') {
    errors.push({ path: 'actor.actor_id', code: 'reserved', message: 'the actor "agent" is the platform itself' });
  }
  return errors;
}

/** Neither database keeps a NUL or a lone surrogate in a text. */
function unstorable(payload: unknown): readonly ObservationError[] {
  if (!isObject(payload) || !isText(payload.text) || !isUnstorableText(payload.text)) return [];
  return [
    { path: 'payload.text', code: 'payload_mismatch', message: 'text must not have NUL characters or lone surrogates' },
  ];
}

/** An alert from outside is about whoever sends it, never about an adapter of the platform. */
function alertPayload({ payload, source_name: source }: Partial<ObservationInput>): ObservationInput['payload'] {
  if (!isObject(payload)) return payload as unknown as ObservationInput['payload'];
  const data = isObject(payload.data) ? payload.data : {};
  return { ...payload, data: { ...data, source_kind: 'ingest', source_id: source } };
}
