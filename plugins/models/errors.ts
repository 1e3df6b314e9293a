import { errorTable, MortiseError } from 'mortise/sdk';

export const { error: modelError, storing } = errorTable({
  invalid_json: [400, 'invalid request body'],
  invalid_provider_id: [400, 'provider_id must be 1 to 64 lower-case letters, digits, dots, hyphens and underscores'],
  invalid_provider_config: [400, 'invalid provider config'],
  invalid_model_slot: [400, 'provider_id and model are required'],
  provider_not_found: [404, 'provider not found'],
  provider_disabled: [400, 'provider is disabled'],
  provider_not_supported: [400, 'the adapter is not supported'],
  model_not_found: [400, 'model not found for provider'],
  forbidden: [403, 'this key may not change the providers of all users'],
  secret_key_mismatch: [500, 'a stored provider key cannot be decrypted with the configured secret key'],
  store_error: [500, 'the model store is not available'],
});

/** An `invalid_json` for a member of the wrong type. The message is that of every invalid body; the details name the member. */
export function wrongType(member: string, expected: string): MortiseError {
  return modelError('invalid_json', { details: { member, expected } });
}

/** Runs a reader of a part of a document. Its error then names the part, and the member whose type is wrong. */
export function reading<T>(part: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MortiseError)) throw error;
    const { code, message, status = 400, details = {}, hint } = error;
    const { member, expected } = details;
    const reason = member === undefined ? message : `${member} must be ${expected}`;
    throw new MortiseError(code, `${part}: ${reason}`, {
      status,
      details,
      ...(hint === undefined ? {} : { hint }),
      cause: error,
    });
  }
}
