import type { PublishResult } from 'mortise/contracts/conversation';
import type { GateDecision } from 'mortise/contracts/gate';
import { type CallContext, MortiseError, type ObservationError, type Route } from 'mortise/sdk';
import type { Conversation } from '../conversation.js';
import type { Cooldowns } from '../cooldowns.js';
import { isObject, isText } from '../problems.js';
import { actorAllowed, adminTypes, outsideObservation } from './outside-observation.js';
import type { RecentIds } from './recent-ids.js';

/** Observations of one request, and how long a caller may wait for the decision, milliseconds. */
const batchLimit = 100;
const decisionMs = 2_000;
/** The adapter under which this way in cools down. */
export const ingestAdapter = 'ingest';

export interface ObservationsPorts {
  readonly conversation: Conversation;
  readonly cooldowns: Cooldowns;
  readonly recent: RecentIds;
}

type Accepted =
  | { readonly status: 'accepted'; readonly obs_id: string; readonly trace_id: string }
  | { readonly status: 'duplicate'; readonly obs_id: string };

/** What one observation came to, or many. */
export interface Taken {
  /** HTTP status. */
  readonly status: 200 | 202;
  readonly body: object;
  /** What the gate decided of it, when that was waited for. */
  readonly action?: string | undefined;
}

/** `POST /observations`: events of other systems, one or up to a hundred. */
export function observationsRoute(ports: ObservationsPorts): Route {
  return {
    handle: async ({ body, query }, ctx) => {
      const wait = query.get('wait');
      if (wait !== null && wait !== 'decision') throw invalidRequest('wait may only be "decision".');
      ctx.setHeader('X-Trace-Id', ctx.trace.traceId);
      const { action, ...answer } = await takeObservations(ports, body, wait !== null, ctx);
      if (action !== undefined) ctx.setHeader('X-Gate-Action', action);
      return answer;
    },
  };
}

/**
 * Takes what another system says.
 *
 * @param wait for what the gate decides of one, two seconds at most
 * @throws MortiseError `invalid_request`, `invalid_observation` (400), `obs_type_not_allowed` (403), `backpressure` (503), …
 */
export async function takeObservations(
  ports: ObservationsPorts,
  body: unknown,
  wait: boolean,
  ctx: CallContext,
): Promise<Taken> {
  if (!isObject(body)) throw invalidRequest('The body must be an observation: a JSON object.');
  if (body.observations !== undefined) return { status: 202, body: takeBatch(ports, body.observations, ctx) };
  const decision = waitForDecision();
  const taken = take(ports, body, ctx, decision.decided);
  if (taken.status === 'duplicate') return { status: 200, body: taken };
  if (!wait) return { status: 202, body: taken };
  const decided = await decision.within(decisionMs);
  const shown = decided ? shownDecision(decided) : null;
  return { status: 202, body: { ...taken, decision: shown }, action: decided?.action };
}

function takeBatch(ports: ObservationsPorts, observations: unknown, ctx: CallContext) {
  if (!Array.isArray(observations) || observations.length === 0 || observations.length > batchLimit) {
    throw invalidRequest(`observations must be a list of 1 to ${batchLimit} observations.`);
  }
  const results = observations.map((one: unknown, index) => {
    try {
      return { index, ...take(ports, one, ctx) };
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

function take(
  { conversation, cooldowns, recent }: ObservationsPorts,
  body: unknown,
  ctx: CallContext,
  decided?: (decision: GateDecision) => void,
): Accepted {
  if (!isObject(body)) throw invalidObservation([mismatch]);
  if (adminTypes.includes(body.obs_type) && !ctx.principal.admin) {
    throw new MortiseError(
      'obs_type_not_allowed',
      `Observations of type ${String(body.obs_type)} need the admin right.`,
      {
        status: 403,
      },
    );
  }
  if (!actorAllowed(body.actor, ctx.principal)) {
    throw new MortiseError('actor_mismatch', 'actor.actor_id is not the user this key belongs to.', { status: 403 });
  }
  const { traceId } = ctx.trace;
  const { input, errors } = outsideObservation(body, { traceId, correlationId: ctx.correlationId });
  if (errors.length > 0) {
    const read = conversation.preview(input);
    throw invalidObservation([...errors, ...((read.ok ? undefined : read.errors) ?? [])]);
  }
  const rawId = input.evidence?.raw_event_id;
  const source = input.source_name;
  const first = isText(rawId) && isText(source) ? recent.find(source, rawId) : undefined;
  if (first !== undefined) return { status: 'duplicate', obs_id: first };
  const adapter = cooldowns.left(ingestAdapter) > 0 ? ingestAdapter : source;
  const published = conversation.publish(input, { adapter, decided });
  if (!published.ok) throw refusal(published, cooldowns.left(adapter));
  const { obs_id, trace_id } = published.observation;
  if (isText(rawId)) recent.remember(source, rawId, obs_id);
  return { status: 'accepted', obs_id, trace_id };
}

const mismatch: ObservationError = { path: '', code: 'payload_mismatch', message: 'an observation is a JSON object' };

function refusal(result: Extract<PublishResult, { ok: false }>, cooldownMs: number): MortiseError {
  switch (result.reason) {
    case 'invalid':
      return invalidObservation(result.errors ?? []);
    case 'adapter_cooldown':
      return new MortiseError('adapter_cooldown', 'This way in is cooling down after repeated failures.', {
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
