import type { ConversationService } from 'mortise/contracts/conversation';
import type { SessionState } from 'mortise/contracts/gate';
import {
  boundUser,
  type Command,
  type CommandFacts,
  isJsonObject,
  MortiseError,
  type Observation,
  type ObservationInput,
  type Principal,
  type Route,
  wrongUsage,
} from 'mortise/sdk';
import { shownFeatures } from '../stages/content.js';
import type { RunningGate } from '../start-gate.js';

const ingresses: readonly unknown[] = ['api', 'ws', 'cron', 'channel', 'timer', 'ingest', 'adapter', 'internal'];

/** `POST /gate/explain`. */
export function explainRoute(running: RunningGate): Route {
  return { handle: ({ body }, { principal }) => ({ body: explain(running, body, principal) }) };
}

/**
 * What the gate would decide on an observation, with a trace of the stages. Changes no state.
 *
 * Without the admin right only for an observation of the principal itself, in a session that it may see.
 *
 * @throws MortiseError `invalid_observation`, `invalid_request` (400), `actor_mismatch`, `session_forbidden` (403)
 */
function explain(running: RunningGate, body: unknown, principal: Principal) {
  const conversation = running.conversation();
  if (!conversation) {
    throw new MortiseError('plugin_unavailable', 'The conversation is not running.', { status: 503 });
  }
  const read = conversation.preview(readBody(body, principal));
  if (!read.ok) {
    throw new MortiseError('invalid_observation', 'The observation is not valid.', {
      status: 400,
      details: { errors: read.errors ?? [] },
    });
  }
  const sessionKey = read.observation.session_key ?? '';
  if (!principal.admin) checkExplained(conversation, read.observation, principal);
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

/** Without the admin right, a decision is explained for the caller's own user and sessions only. */
function checkExplained(conversation: ConversationService, observation: Observation, principal: Principal): void {
  const user = boundUser(principal);
  const actor = observation.actor?.actor_id;
  if (user !== undefined && actor !== undefined && actor !== user) {
    throw new MortiseError('actor_mismatch', 'actor.actor_id is not the user this key belongs to.', { status: 403 });
  }
  const key = observation.session_key ?? '';
  // A session that is not in memory has no state to show.
  const isForeign = user !== undefined || conversation.session(key) !== undefined;
  if (isForeign && !conversation.maySee(principal, key)) {
    throw new MortiseError('session_forbidden', 'This key may not see that session.', { status: 403 });
  }
}

function readBody(body: unknown, principal: Principal): ObservationInput {
  if (!isJsonObject(body)) {
    throw new MortiseError('invalid_request', 'The body must be one observation: a JSON object.', { status: 400 });
  }
  const input = body as unknown as ObservationInput;
  const ingress = ingresses.includes(input.ingress) ? (input.ingress as Observation['ingress']) : 'ingest';
  const user = boundUser(principal);
  const own = user === undefined ? {} : { actor: { actor_type: 'user', actor_id: user } as const };
  return { ...own, ...input, source_kind: 'external', ingress };
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
    run: async ({ args, options: { text, session, actor } }, { principal }) => {
      if (args.length > 0 || typeof text !== 'string') return wrongUsage(facts);
      const explained = explain(
        running,
        {
          source_name: 'cli',
          payload: { text },
          ...(typeof session === 'string' ? { session_key: session } : {}),
          ...(typeof actor === 'string' ? { actor: { actor_type: 'user', actor_id: actor } } : {}),
        },
        principal,
      );
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
