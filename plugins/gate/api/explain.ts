import type { SessionState } from 'mortise/contracts/gate';
import {
  type Command,
  type CommandFacts,
  isJsonObject,
  MortiseError,
  type Observation,
  type ObservationInput,
  type Route,
  wrongUsage,
} from 'mortise/sdk';
import { shownFeatures } from '../stages/content.js';
import type { RunningGate } from '../start-gate.js';

const ingresses: readonly string[] = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'];

/** `POST /gate/explain`. */
export function explainRoute(running: RunningGate): Route {
  return { handle: ({ body }) => ({ body: explain(running, body) }) };
}

/**
 * What the gate would decide on an observation, with a trace of the stages. Changes no state.
 *
 * @throws MortiseError `invalid_observation`, `invalid_request` (400)
 */
function explain(running: RunningGate, body: unknown) {
  const conversation = running.conversation();
  if (!conversation) {
    throw new MortiseError('plugin_unavailable', 'The conversation is not running.', { status: 503 });
  }
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
  if (!isJsonObject(body)) {
    throw new MortiseError('invalid_request', 'The body must be one observation: a JSON object.', { status: 400 });
  }
  const input = body as unknown as ObservationInput;
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

/** `mortise gate explain --text <text>`. */
export function explainCommand(facts: CommandFacts, running: RunningGate): Command {
  return {
    ...facts,
    isRead: () => true,
    run: async ({ args, options: { text, session, actor } }) => {
      if (args.length > 0 || typeof text !== 'string') return wrongUsage(facts);
      const explained = explain(running, {
        source_name: 'cli',
        payload: { text },
        ...(typeof session === 'string' ? { session_key: session } : {}),
        ...(typeof actor === 'string' ? { actor: { actor_type: 'user', actor_id: actor } } : {}),
      });
      const { action, reasons, scene, score } = explained.decision;
      const lines = explained.trace.map(
        ({ stage, elapsed_us, changes }) =>
          `  ${stage} (${elapsed_us} µs): ${changes.length === 0 ? 'nothing' : JSON.stringify(changes)}`,
      );
      const first = `${action}: ${reasons.join(', ')} (scene ${scene}, score ${score})`;
      return { exitCode: 0, data: explained, text: [first, ...lines].join('\n') };
    },
  };
}
