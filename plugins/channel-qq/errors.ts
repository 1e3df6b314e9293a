import { errorTable, type MortiseError } from 'mortise/sdk';

export const { error: qqError, storing } = errorTable({
  invalid_json: [400, 'invalid request body'],
  invalid_qq_event: [400, 'the event is invalid'],
  invalid_signature: [401, 'the signature of the event is missing, wrong or too old'],
  unauthorized: [401, 'an unsigned event needs the API key, or a caller on this machine when no key is configured'],
  actor_mismatch: [403, 'this key may not send events of another user'],
  forbidden: [403, 'this key may not see the channels of all users'],
  channel_disabled: [400, 'channel "qq" is disabled'],
  channel_dispatch_failed: [502, 'QQ did not accept the message'],
  store_error: [500, 'the event cannot be stored'],
});

/** A text could not be sent. */
export function sendFailed(message: string, cause?: unknown): MortiseError {
  return qqError('channel_dispatch_failed', { message, cause });
}
