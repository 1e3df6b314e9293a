import { errorTable, type MortiseError } from 'mortise/sdk';

export const { error: selfOpsError, storing } = errorTable({
  invalid_json: [400, 'invalid request body'],
  invalid_request: [400, 'invalid request'],
  invalid_channel: [400, 'channel must be a name of letters, digits, "-" and "_"'],
  actor_mismatch: [403, 'user_id is not the user this key belongs to'],
  forbidden: [403, 'this key may not change the settings of all users'],
  session_not_found: [404, 'session not found'],
  session_model_invalid: [400, 'the model cannot be used'],
  mutation_not_found: [404, 'mutation not found'],
  mutation_expired: [410, 'mutation has expired'],
  mutation_apply_conflict: [409, 'mutation is already applied'],
  mutation_hash_mismatch: [409, 'confirm_hash does not match the preview'],
  mutation_sensitive_denied: [403, 'sensitive changes require allow_sensitive=true'],
  mutation_path_denied: [403, 'the path may not be changed'],
  store_error: [500, 'mutations cannot be read or stored'],
});

/** An `invalid_request` with a sentence of its own. */
export function invalidRequest(message: string, details?: Readonly<Record<string, unknown>>): MortiseError {
  return selfOpsError('invalid_request', { message, ...(details ? { details } : {}) });
}
