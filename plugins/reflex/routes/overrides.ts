import {
  type CallContext,
  MortiseError,
  type ObservationInput,
  type Route,
  type RouteContext,
  type RouteResponse,
} from 'mortise/sdk';
import type { RunningReflex } from '../start-reflex.js';
import { adminSource } from '../system-reflex.js';

/** Longest time that an admin's override may last by itself: beyond it says "until cleared". */
const longestTtl = 2_000_000;

/** `POST /gate/overrides`. */
export function setOverridesRoute(running: RunningReflex): Route {
  return { handle: ({ body }, ctx) => answered(setOverrides(running, body, ctx), ctx) };
}

/** `DELETE /gate/overrides/:key`. */
export function clearOverrideRoute(running: RunningReflex): Route {
  return { handle: ({ params }, ctx) => answered(clearOverride(running, params.key ?? '', ctx), ctx) };
}

/** The observation that asks for a change. */
export interface Ordered {
  readonly obs_id: string;
  readonly trace_id: string;
}

/**
 * Asks for overrides of the admin's layer; the change itself is made where all changes are made.
 *
 * @throws MortiseError `invalid_request`, `invalid_override` (400), `audit_unavailable`, `backpressure` (503)
 */
export function setOverrides(running: RunningReflex, body: unknown, ctx: CallContext): Ordered {
  const { overrides, ttl_sec, reason } = object(body, 'The body must be {overrides, reason, ttl_sec?}.');
  if (typeof reason !== 'string' || reason.trim() === '' || reason.length > 500) {
    throw invalid('reason must say why, in at most 500 characters.');
  }
  const whole = typeof ttl_sec === 'number' && Number.isInteger(ttl_sec) && ttl_sec >= 1 && ttl_sec <= longestTtl;
  if (ttl_sec !== undefined && !whole) throw invalid(`ttl_sec must be a whole number from 1 to ${longestTtl}.`);
  const patch = object(overrides, 'overrides must be an object.');
  running.gate.checkOverrides(patch);
  return order(running, { overrides: patch, ttl_sec, reason }, ctx);
}

/** Takes the admin's value off, so that the one below shows. @throws as {@link setOverrides} */
export function clearOverride(running: RunningReflex, key: string, ctx: CallContext): Ordered {
  const { overrides } = running.gate.snapshot().config;
  const known = Object.hasOwn(overrides, key) ? overrides[key as keyof typeof overrides] : null;
  running.gate.checkOverrides({ [key]: known });
  return order(running, { clear: key }, ctx);
}

function order(running: RunningReflex, data: ObservationInput['payload'], ctx: CallContext): Ordered {
  if (!running.room()) {
    throw new MortiseError('audit_unavailable', 'The change cannot be noted, so it is not made.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const published = running.conversation.publish({
    obs_type: 'control',
    source_name: adminSource,
    source_kind: 'internal',
    ingress: 'api',
    actor: { actor_type: 'user', actor_id: ctx.principal.id },
    payload: { kind: 'admin_override', data },
    trace_id: ctx.trace.traceId,
    correlation_id: ctx.correlationId,
  });
  if (!published.ok) {
    throw new MortiseError('backpressure', 'The server is overloaded; please try again.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const { obs_id, trace_id } = published.observation;
  return { obs_id, trace_id };
}

function answered(ordered: Ordered, ctx: RouteContext): RouteResponse {
  ctx.setHeader('X-Trace-Id', ordered.trace_id);
  return { status: 202, body: ordered };
}

function object(value: unknown, message: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(message);
  return value as Readonly<Record<string, unknown>>;
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}
