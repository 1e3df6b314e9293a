import type { SessionState } from 'mortise/contracts/gate';
import { MortiseError, type Observation, type ObservationInput, type Route } from 'mortise/sdk';
import { shownFeatures } from '../stages/feature.js';
import { conversationOf, type RunningGate } from '../start-gate.js';

const ingresses: readonly string[] = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'];

/** `POST /gate/explain`. */
export function explainRoute(running: RunningGate): Route {
  return { handle: ({ body }) => ({ body: explain(running, body) }) };
}

/**
 * What the gate would decide of an observation, stage by stage; nothing comes of it.
 *
 * @throws MortiseError `invalid_observation`, `invalid_request` (400)
 */
export function explain(running: RunningGate, body: unknown) {
  const conversation = conversationOf(running);
  const read = conversation.preview(readBody(body));
  if (!read.ok) {
    throw new MortiseError('invalid_observation', 'The observation is not valid.', {
      status: 400,
      details: { errors: read.errors ?? [] },
    });
  }
  const sessionKey = read.observation.session_key ?? '';
  const session = conversation.session(sessionKey) ?? unknownSession(sessionKey, running.now());
  const context = { sessionKey, now: running.monotonic(), session, overload: false };
  const { outcome, draft, trace } = running.gate.explain(read.observation, context);
  return {
    decision: outcome.decision,
    features: shownFeatures(draft),
    trace,
    config_revision: outcome.decision.config_revision,
  };
}

function readBody(body: unknown): ObservationInput {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new MortiseError('invalid_request', 'The body must be one observation: a JSON object.', { status: 400 });
  }
  const input = body as ObservationInput;
  const ingress = ingresses.includes(String(input.ingress)) ? (input.ingress as Observation['ingress']) : 'ingest';
  return { ...input, source_kind: 'external', ingress };
}

function unknownSession(session_key: string, created_at: number): SessionState {
  return {
    session_key,
    created_at,
    last_active_at: null,
    processed_total: 0,
    error_total: 0,
    recent_obs: [],
    idleSeconds: () => null,
  };
}
