import { isCodedError, MortiseError } from 'mortise/sdk';

const table = {
  invalid_json: [400, 'invalid request body'],
  invalid_qq_event: [400, 'the event is invalid'],
  invalid_signature: [401, 'the signature of the event is missing, wrong or too old'],
  unauthorized: [401, 'an unsigned event needs the API key, or a caller on this machine when no key is configured'],
  actor_mismatch: [403, 'this key may not send events of another user'],
  forbidden: [403, 'this key may not see the channels of all users'],
  channel_disabled: [400, 'channel "qq" is disabled'],
  channel_dispatch_failed: [502, 'QQ did not accept the message'],
  store_error: [500, 'the event cannot be stored'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

/** An error of this plugin; `message` replaces the sentence of its row. */
export function qqError(
  code: keyof typeof table,
  { message, ...options }: { message?: string; hint?: string; cause?: unknown } = {},
): MortiseError {
  const [status, sentence] = table[code];
  return new MortiseError(code, message ?? sentence, { status, ...options });
}

/** A text could not be sent. */
export function sendFailed(message: string, cause?: unknown): MortiseError {
  return qqError('channel_dispatch_failed', { message, cause });
}

/** Runs a store operation; an error of the database becomes `store_error`, with the cause for the log only. */
export async function storing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isCodedError(error)) throw error;
    throw qqError('store_error', { cause: error });
  }
}
