import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenTurnOptions, OpenTurnRequest, OpenTurnResult } from 'mortise/contracts/sessions';
import { isCodedError, newId } from 'mortise/sdk';
import type { RunningTurns } from './cancel-turns.js';
import { sessionError } from './errors.js';
import { RunningTurn } from './running-turn.js';
import { type OpenAttempt, openTurnOnce } from './store/open-turn.js';
import { readTurn } from './store/read-turns.js';
import { asSession, type Session, type Store } from './store/store.js';
import { findKeyHolder } from './store/turn-rows.js';

/** How often a held session is tried again, milliseconds. */
const retryMs = 100;

export interface TurnOpener {
  readonly store: Store;
  readonly running: RunningTurns;
  readonly ttlMs: number;
}

/** Opens a turn, waiting for the session as long as the caller allows. */
export async function openTurn(
  opener: TurnOpener,
  request: OpenTurnRequest,
  options: OpenTurnOptions = {},
): Promise<OpenTurnResult> {
  const { store, running, ttlMs } = opener;
  const session = asSession(request.session);
  const deadline = performance.now() + (options.waitMs ?? 0);
  for (;;) {
    const turnId = newId('turn');
    const controller = new AbortController();
    running.add(turnId, () => controller.abort(sessionError('turn_cancelled')));
    let attempt: OpenAttempt | undefined;
    try {
      attempt = await attemptOpen(store, session, request, turnId, ttlMs);
    } finally {
      if (attempt?.kind !== 'open') running.remove(turnId);
    }
    if (attempt.kind === 'open') {
      const onClosed = () => running.remove(turnId);
      return {
        kind: 'open',
        turn: new RunningTurn({ store, opened: attempt, turnId, ttlMs, controller, onClosed }),
      };
    }
    if (attempt.kind === 'replay') {
      const turn = await readTurn(store, attempt.turnId);
      if (turn) return { kind: 'replay', turn };
      continue;
    }
    if (request.idempotency) await findKeyHolder(store, session.key, request.idempotency);
    const left = deadline - performance.now();
    if (left <= 0) return { kind: 'busy' };
    await pause(Math.min(retryMs, left), options.signal);
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {});
  } catch {
    throw isCodedError(signal?.reason) ? signal.reason : sessionError('turn_cancelled');
  }
}

/** Retries twice when another process took the same id or key at the same moment. */
async function attemptOpen(
  store: Store,
  session: Session,
  request: OpenTurnRequest,
  turnId: string,
  ttlMs: number,
): Promise<OpenAttempt> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await openTurnOnce(store, session, request, turnId, ttlMs);
    } catch (error) {
      const kind = store.database.codec.errorKind(error);
      if (attempt === 3 || (kind !== 'unique' && kind !== 'busy')) throw error;
    }
  }
}
