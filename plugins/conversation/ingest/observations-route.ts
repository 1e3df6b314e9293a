import type { PublishResult } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import type { SessionsService } from 'mortise/contracts/sessions';
import {
  boundUser,
  type CallContext,
  isJsonObject,
  isUnstorableText,
  MortiseError,
  type ObservationError,
  type ObservationInput,
  type Refusal,
  type Route,
} from 'mortise/sdk';
import type { Cooldowns } from '../cooldowns.js';
import type { Intake } from '../intake.js';
import { cutText } from '../observation/payload.js';
import { isText } from '../observation/read-members.js';
import type { RecentIds } from './recent-ids.js';

/** Observations of one request. */
const batchLimit = 100;
/** How long a caller may wait for the gate's decision, milliseconds. */
const decisionMs = 2_000;
/** The name under which this endpoint cools down. */
const ingestAdapter = 'ingest';

export interface ObservationsDeps {
  readonly intake: Intake;
  readonly cooldowns: Cooldowns;
  readonly recent: RecentIds;
  readonly sessions: Pick<SessionsService, 'parseKey'>;
  /** Reports a refusal for the audit. */
  readonly refused: (refusal: Refusal) => void;
}

type Accepted =
  | { readonly status: 'accepted'; readonly obs_id: string; readonly trace_id: string }
  | { readonly status: 'duplicate'; readonly obs_id: string };

/** The response to one observation, or to a batch. */
interface TakenObservations {
  /** HTTP status. */
  readonly status: 200 | 202;
  readonly body: object;
  /** The gate's action, when the caller waited for it. */
  readonly action?: string | undefined;
}

/** `POST /observations`: publishes one event of another system, or up to 100. */
export function observationsRoute(deps: ObservationsDeps): Route {
  return {
    handle: async ({ body, query }, ctx) => {
      const wait = query.get('wait');
      if (wait !== null && wait !== 'decision') throw invalidRequest('wait may only be "decision".');
      ctx.setHeader('X-Trace-Id', ctx.trace.traceId);
      const { action, ...answer } = await takeObservations(deps, body, wait !== null, ctx);
      if (action !== undefined) ctx.setHeader('X-Gate-Action', action);
      return answer;
    },
  };
}

/**
 * Publishes one observation or a batch from outside.
 *
 * @param wait waits up to two seconds for the gate's decision on a single observation
 * @throws MortiseError `invalid_request`, `invalid_observation` (400), `obs_type_not_allowed` (403), `backpressure` (503), …
 */
export async function takeObservations(
  deps: ObservationsDeps,
  body: unknown,
  wait: boolean,
  ctx: CallContext,
): Promise<TakenObservations> {
  if (!isJsonObject(body)) throw invalidRequest('The body must be an observation: a JSON object.');
  if (body.observations !== undefined) return { status: 202, body: takeBatch(deps, body.observations, ctx) };
  const decision = waitForDecision();
  const taken = take(deps, body, ctx, decision.decided);
  if (taken.status === 'duplicate') return { status: 200, body: taken };
  if (!wait) return { status: 202, body: taken };
  const decided = await decision.within(decisionMs);
  const shown = decided ? shownDecision(decided) : null;
  return { status: 202, body: { ...taken, decision: shown }, action: decided?.action };
}

function takeBatch(deps: ObservationsDeps, observations: unknown, ctx: CallContext) {
  if (!Array.isArray(observations) || observations.length === 0 || observations.length > batchLimit) {
    throw invalidRequest(`observations must be a list of 1 to ${batchLimit} observations.`);
  }
  const results = observations.map((one: unknown, index) => {
    try {
      return { index, ...take(deps, one, ctx) };
    } catch (error) {
      if (!(error instanceof MortiseError)) throw error;
      const { code, message, details } = error;
      return { index, status: 'rejected' as const, error: { code, message, ...(details ? { details } : {}) } };
    }
  });
  const accepted = results.filter(({ status }) => status === 'accepted').length;
  const rejected = results.filter(({ status }) => status === 'rejected').length;
  return { accepted, rejected, results };
}

/** The refusals that the audit records. */
const auditedReasons: Readonly<Record<string, Refusal['reason']>> = {
  obs_type_not_allowed: 'admin_required',
  actor_mismatch: 'forbidden',
};

function take(
  deps: ObservationsDeps,
  body: unknown,
  ctx: CallContext,
  decided?: (decision: GateDecision) => void,
): Accepted {
  try {
    return publish(deps, body, ctx, decided);
  } catch (error) {
    const reason = error instanceof MortiseError ? auditedReasons[error.code] : undefined;
    const { principal, correlationId } = ctx;
    if (reason) deps.refused({ reason, subject: principal.id, target: '/observations', correlationId });
    throw error;
  }
}

function publish(
  { intake, cooldowns, recent, sessions }: ObservationsDeps,
  body: unknown,
  ctx: CallContext,
  decided?: (decision: GateDecision) => void,
): Accepted {
  if (!isJsonObject(body)) throw invalidObservation([mismatch]);
  if (adminTypes.includes(body.obs_type) && !ctx.principal.admin) {
    const message = `Observations of type ${String(body.obs_type)} need the admin right.`;
    throw new MortiseError('obs_type_not_allowed', message, { status: 403 });
  }
  const { traceId } = ctx.trace;
  const user = boundUser(ctx.principal);
  // The events of a bound key belong to its user: of a key that is bound to spaces alone that is its own name.
  const own = { actor_type: ctx.principal.actor === undefined ? 'service' : 'user', actor_id: user };
  const { actor } = body;
  const isNamed = actor !== undefined && actor !== null && !isJsonObject(actor);
  const sent =
    user === undefined || isNamed ? body : { ...body, actor: { ...own, ...(isJsonObject(actor) ? actor : {}) } };
  const { input, errors } = outsideObservation(sent, { traceId, correlationId: ctx.correlationId });
  if (user !== undefined) checkNames(input, user, sessions.parseKey, (given) => intake.preview(given));
  if (errors.length > 0) {
    const read = intake.preview(input);
    throw invalidObservation([...errors, ...((read.ok ? undefined : read.errors) ?? [])]);
  }
  const rawId = input.evidence?.raw_event_id;
  const source = input.source_name;
  // Each principal has its own events: an id that another one has used is new.
  const event = isText(rawId) && isText(source) ? ([`${ctx.principal.id}\n${source}`, rawId] as const) : undefined;
  const first = event && recent.find(...event);
  if (first !== undefined) return { status: 'duplicate', obs_id: first };
  const adapter = cooldowns.left(ingestAdapter) > 0 ? ingestAdapter : source;
  const published = intake.publish(input, { adapter, decided, principal: ctx.principal });
  if (!published.ok) throw refusal(published, cooldowns.left(adapter));
  const { obs_id, trace_id } = published.observation;
  if (event) recent.remember(...event, obs_id);
  return { status: 'accepted', obs_id, trace_id };
}

const mismatch: ObservationError = {
  path: '',
  code: 'payload_mismatch',
  message: 'an observation must be a JSON object',
};

function refusal(result: Extract<PublishResult, { ok: false }>, cooldownMs: number): MortiseError {
  switch (result.reason) {
    case 'invalid':
      return invalidObservation(result.errors ?? []);
    case 'adapter_cooldown':
      return new MortiseError('adapter_cooldown', 'This input adapter is cooling down after repeated failures.', {
        status: 503,
        retryAfterSeconds: Math.max(1, Math.ceil(cooldownMs / 1_000)),
      });
    case 'closed':
      return new MortiseError('shutting_down', 'The server is shutting down.', { status: 503, retryAfterSeconds: 1 });
    case 'queue_full':
      return new MortiseError('backpressure', 'The server is overloaded; please try again.', {
        status: 503,
        retryAfterSeconds: 1,
      });
  }
}

function invalidObservation(errors: readonly ObservationError[]): MortiseError {
  return new MortiseError('invalid_observation', 'The observation is not valid.', { status: 400, details: { errors } });
}

function invalidRequest(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}

function shownDecision({ action, reason, reasons, scene, score }: GateDecision) {
  return { action, reason, reasons, scene, score: score ?? null };
}

function waitForDecision() {
  let decided: (decision: GateDecision) => void = () => undefined;
  const decision = new Promise<GateDecision>((resolve) => {
    decided = resolve;
  });
  const within = (ms: number): Promise<GateDecision | null> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), ms);
    });
    return Promise.race([decision, late]).finally(() => clearTimeout(timer));
  };
  return { decided, within };
}

/** Prefixes of source names that only the platform may use. */
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

/** Metadata that only the platform may set. */
const reservedMetadata = ['released_from', 'direction', 'answered_by', 'origin_session_key'];

/** Observation types that need the admin right. */
const adminTypes: readonly unknown[] = ['control', 'schedule', 'system'];

/** The input with the members that the platform sets overwritten, and errors for reserved names and unstorable text. */
function outsideObservation(
  body: Readonly<Record<string, unknown>>,
  { traceId, correlationId }: { readonly traceId: string; readonly correlationId: string },
): { readonly input: ObservationInput; readonly errors: readonly ObservationError[] } {
  const given = body as Partial<ObservationInput>;
  const errors = [...reservedNames(given), ...unstorable(given.payload)];
  const { obs_type, source_name, timestamp, session_key, actor, evidence, confidence, tags, metadata } = given;
  const payload = obs_type === 'alert' ? alertPayload(given) : (given.payload as ObservationInput['payload']);
  const cut = isJsonObject(payload) ? cutText(payload) : { payload };
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
      evidence: isJsonObject(evidence) ? evidence : undefined,
      confidence,
      tags,
      metadata: isJsonObject(metadata)
        ? Object.fromEntries(Object.entries(metadata).filter(([name]) => !reservedMetadata.includes(name)))
        : metadata,
      trace_id: traceId,
      correlation_id: correlationId,
    },
  };
}

/** A bound key names no other user: neither as the actor nor by a session key or the metadata. @throws `actor_mismatch` */
function checkNames(
  input: ObservationInput,
  user: string,
  parseKey: SessionsService['parseKey'],
  preview: (input: ObservationInput) => PublishResult,
): void {
  const { actor, session_key: key, metadata } = input;
  if (!isJsonObject(actor) || actor.actor_id !== user) throw actorMismatch('actor.actor_id');
  const named = isJsonObject(metadata) ? metadata : {};
  if (named.user_id !== undefined && named.user_id !== user) throw actorMismatch('metadata.user_id');
  for (const [path, given] of [
    ['session_key', key],
    ['metadata.session_key', named.session_key],
  ] as const) {
    if (!isText(given)) continue;
    // A name that is no key of a known channel becomes a session of the actor.
    const read = preview({ ...input, obs_type: 'message', payload: { text: '' }, session_key: given });
    const routed = read.ok ? read.observation.session_key : undefined;
    if (routed !== undefined && parseKey(routed)?.userId !== user) throw actorMismatch(path);
  }
}

function actorMismatch(path: string): MortiseError {
  return new MortiseError('actor_mismatch', `${path} is not the user this key belongs to.`, { status: 403 });
}

function reservedNames({ source_name: source, actor }: Partial<ObservationInput>): readonly ObservationError[] {
  const errors: ObservationError[] = [];
  const name = isText(source) ? source.trim().toLowerCase() : '';
  const prefix = reservedPrefixes.find((one) => name.startsWith(one));
  if (prefix !== undefined) {
    errors.push({
      path: 'source_name',
      code: 'reserved',
      message: `source names with "${prefix}" are reserved for the platform`,
    });
  }
  if (isJsonObject(actor) && actor.actor_id === 'agent') {
    errors.push({
      path: 'actor.actor_id',
      code: 'reserved',
      message: 'the actor "agent" is reserved for the platform',
    });
  }
  return errors;
}

/** Neither database stores NUL characters or lone surrogates. */
function unstorable(payload: unknown): readonly ObservationError[] {
  if (!isJsonObject(payload) || !isText(payload.text) || !isUnstorableText(payload.text)) return [];
  return [
    { path: 'payload.text', code: 'payload_mismatch', message: 'text must not have NUL characters or lone surrogates' },
  ];
}

/** An alert from outside is about its sender, never about an adapter of the platform. */
function alertPayload({ payload, source_name: source }: Partial<ObservationInput>): ObservationInput['payload'] {
  if (!isJsonObject(payload)) return payload as unknown as ObservationInput['payload'];
  const data = isJsonObject(payload.data) ? payload.data : {};
  return { ...payload, data: { ...data, source_kind: 'ingest', source_id: source } };
}
