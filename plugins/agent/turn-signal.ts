import { errorOf } from 'mortise/contracts/agent';
import type { TurnStatus } from 'mortise/contracts/sessions';
import { isCodedError } from 'mortise/sdk';
import { agentError } from './errors.js';

interface TurnSignal {
  /** Aborted with the reason that {@link endOf} reads. */
  readonly signal: AbortSignal;
  /** Removes the listeners and the timer. */
  dispose(): void;
}

/** One signal for everything that ends a turn: the caller, the session and the time limit. */
export function turnSignal(sources: readonly AbortSignal[], timeoutMs: number): TurnSignal {
  const controller = new AbortController();
  const undo: (() => void)[] = [];
  for (const source of sources) {
    const relay = (): void => controller.abort(source.reason);
    if (source.aborted) relay();
    source.addEventListener('abort', relay, { once: true });
    undo.push(() => source.removeEventListener('abort', relay));
  }
  if (timeoutMs > 0) {
    const message = `the turn took longer than ${timeoutMs / 1_000} s`;
    const details = { timeout_seconds: timeoutMs / 1_000 };
    const late = () => controller.abort(agentError('agent_turn_timeout', { message, details }));
    const timer = setTimeout(late, timeoutMs);
    undo.push(() => clearTimeout(timer));
  }
  return {
    signal: controller.signal,
    dispose: () => {
      for (const run of undo) run();
    },
  };
}

interface TurnEnd {
  readonly status: Exclude<TurnStatus, 'running'>;
  readonly error: ReturnType<typeof agentError>;
}

/** Reasons for which the platform, not the caller, ends a turn. */
const platformCodes = ['server_shutdown', 'shutting_down'];

/** The connection was lost; the caller did not cancel the turn. */
const brokenCode = 'connection_lost';

/** What an abort means for the turn. Reasons may be wrapped: the first known code along the causes decides. */
export function endOf(reason: unknown): TurnEnd {
  for (let error = reason; isCodedError(error); error = (error as { cause?: unknown }).cause) {
    const { code, message, status, details } = error;
    if (code === 'session_fenced')
      return { status: 'fenced', error: errorOf({ code, message, status: status ?? 409, details }) };
    if (code === 'turn_cancelled') return { status: 'cancelled', error: agentErrorLike(code, message, status) };
    if (code === 'agent_turn_timeout') return { status: 'timed_out', error: agentError(code, { message, details }) };
    if (code === brokenCode) return { status: 'interrupted', error: agentError('client_closed') };
    // Its message names the plugin, because the server keeps running.
    if (code === 'plugin_stopping') return { status: 'interrupted', error: agentError(code, { message }) };
    if (platformCodes.includes(code)) return { status: 'interrupted', error: agentError('server_shutdown') };
  }
  return { status: 'cancelled', error: agentError('client_closed') };
}

function agentErrorLike(code: string, message: string, status: number | undefined) {
  return errorOf({ code, message, status: status ?? 409 });
}
