import {
  type CallContext,
  type Command,
  type CommandFacts,
  type CommandResult,
  isJsonObject,
  type JsonObject,
  MortiseError,
  type ObservationInput,
  type Route,
  type RouteContext,
  type RouteResponse,
  wrongUsage,
} from 'mortise/sdk';
import type { RunningReflex } from '../start-reflex.js';
import { adminSource } from '../system-reflex.js';

/** The longest TTL of an admin's override, seconds; below the longest timer of Node.js (2^31 ms). */
const maxTtlSeconds = 2_000_000;

/** `POST /gate/overrides`. */
export function setOverridesRoute(running: RunningReflex): Route {
  return { handle: ({ body }, ctx) => acceptedResponse(setOverrides(running, body, ctx), ctx) };
}

/** `DELETE /gate/overrides/:key`. */
export function clearOverrideRoute(running: RunningReflex): Route {
  return { handle: ({ params }, ctx) => acceptedResponse(clearOverride(running, params.key ?? '', ctx), ctx) };
}

/** `mortise gate override set <key> <json>`. */
export function setOverrideCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [key, json, ...more], options: { ttl, reason } }, ctx) => {
      if (key === undefined || json === undefined || more.length > 0) return wrongUsage(facts);
      const value = parse(json);
      const seconds = ttl === undefined ? undefined : Number(ttl);
      if (value === undefined || Number.isNaN(seconds)) return wrongUsage(facts);
      const why = typeof reason === 'string' ? reason : 'set from the command line';
      return commandResult(setOverrides(running, { overrides: { [key]: value }, ttl_sec: seconds, reason: why }, ctx));
    },
  };
}

/** `mortise gate override clear <key>`. */
export function clearOverrideCommand(facts: CommandFacts, running: RunningReflex): Command {
  return {
    ...facts,
    run: async ({ args: [key, ...more] }, ctx) => {
      if (key === undefined || more.length > 0) return wrongUsage(facts);
      return commandResult(clearOverride(running, key, ctx));
    },
  };
}

/** The observation that requests a change. */
interface Requested {
  readonly obs_id: string;
  readonly trace_id: string;
}

/**
 * Requests overrides in the admin layer; {@link SystemReflex} makes the change.
 *
 * @throws MortiseError `invalid_request`, `invalid_override` (400), `audit_unavailable`, `backpressure` (503)
 */
function setOverrides(running: RunningReflex, body: unknown, ctx: CallContext): Requested {
  const { overrides, ttl_sec, reason } = objectOf(body, 'The body must be {overrides, reason, ttl_sec?}.');
  if (typeof reason !== 'string' || reason.trim() === '' || reason.length > 500) {
    throw invalid('reason must be a text of 1 to 500 characters.');
  }
  const whole = typeof ttl_sec === 'number' && Number.isInteger(ttl_sec) && ttl_sec >= 1 && ttl_sec <= maxTtlSeconds;
  if (ttl_sec !== undefined && !whole) throw invalid(`ttl_sec must be a whole number from 1 to ${maxTtlSeconds}.`);
  const patch = objectOf(overrides, 'overrides must be an object.');
  running.gate.checkOverrides(patch);
  return request(running, { overrides: patch, ttl_sec, reason }, ctx);
}

/** Requests the removal of the admin's override of a key. @throws as {@link setOverrides} */
function clearOverride(running: RunningReflex, key: string, ctx: CallContext): Requested {
  const { overrides } = running.gate.snapshot().config;
  const known = Object.hasOwn(overrides, key) ? overrides[key as keyof typeof overrides] : null;
  running.gate.checkOverrides({ [key]: known });
  return request(running, { clear: key }, ctx);
}

function request(running: RunningReflex, data: ObservationInput['payload'], ctx: CallContext): Requested {
  if (!running.room()) {
    throw new MortiseError('audit_unavailable', 'The change was not made because it cannot be audited.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const requested: ObservationInput = {
    obs_type: 'control',
    source_name: adminSource,
    source_kind: 'internal',
    ingress: 'api',
    actor: { actor_type: 'user', actor_id: ctx.principal.id },
    payload: { kind: 'admin_override', data },
    trace_id: ctx.trace.traceId,
    correlation_id: ctx.correlationId,
  };
  const published = running.conversation.publish(requested, { principal: ctx.principal });
  if (!published.ok) {
    throw new MortiseError('backpressure', 'The server is overloaded; please try again.', {
      status: 503,
      retryAfterSeconds: 1,
    });
  }
  const { obs_id, trace_id } = published.observation;
  return { obs_id, trace_id };
}

function acceptedResponse(requested: Requested, ctx: RouteContext): RouteResponse {
  ctx.setHeader('X-Trace-Id', requested.trace_id);
  return { status: 202, body: requested };
}

function commandResult(requested: Requested): CommandResult {
  return { exitCode: 0, data: requested, text: `Requested by observation ${requested.obs_id}.` };
}

function objectOf(value: unknown, message: string): JsonObject {
  if (!isJsonObject(value)) throw invalid(message);
  return value;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function invalid(message: string): MortiseError {
  return new MortiseError('invalid_request', message, { status: 400 });
}
