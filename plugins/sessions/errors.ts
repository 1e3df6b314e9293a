import { errorTable, type MortiseError } from 'mortise/sdk';
import type { LeaseLoss } from './heartbeat.js';

export const {
  error: sessionError,
  is: hasCode,
  storing,
} = errorTable(
  {
    session_fenced: [409, 'The session was taken over by another worker.'],
    turn_cancelled: [409, 'The turn was cancelled.'],
    turn_in_progress: [409, 'A turn with this idempotency key is in progress.'],
    idempotency_conflict: [409, 'The idempotency key was used with other content.'],
    store_error: [500, 'The transcript store is not available.'],
    invalid_chat: [400, 'session_id, user_id, channel are required'],
    chat_id_mismatch: [400, 'chat_id mismatch'],
    chat_not_found: [404, 'chat not found'],
    turn_not_found: [404, 'turn not found'],
    actor_mismatch: [403, 'user_id is not the user this key belongs to'],
    default_chat_protected: [400, 'default chat cannot be deleted'],
    invalid_json: [400, 'invalid request body'],
    invalid_request: [400, 'invalid request'],
  },
  {
    chat_not_found: 'not_found',
    turn_not_found: 'not_found',
  },
);

/** Why a worker may no longer write into the session that it had claimed. */
export function fencedError(loss: LeaseLoss): MortiseError {
  if (loss === 'taken') return sessionError('session_fenced');
  const message =
    'The database did not renew the lease of the session in time, so the turn was ended before another worker may take the session.';
  return sessionError('session_fenced', { message, details: { reason: 'lease_not_renewed' } });
}
