import { isCodedError, MortiseError } from 'mortise/sdk';

const table = {
  invalid_json: [400, 'invalid request body'],
  channel_not_supported: [400, 'the channel is not supported'],
  invalid_channel_config: [400, 'the configuration does not fit the channel'],
  not_found: [404, 'channel not found'],
  forbidden: [403, 'this key may not read or change the channels of all users'],
  reveal_forbidden: [403, 'secrets are revealed only with the admin right of a configured key'],
  store_error: [500, 'the channels cannot be read or stored'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

type ChannelErrorCode = keyof typeof table;

/** An error of this plugin; `message` replaces the sentence of its row. */
export function channelError(
  code: ChannelErrorCode,
  {
    message,
    ...options
  }: { message?: string; hint?: string; details?: Readonly<Record<string, unknown>>; cause?: unknown } = {},
): MortiseError {
  const [status, sentence] = table[code];
  return new MortiseError(code === 'reveal_forbidden' ? 'forbidden' : code, message ?? sentence, {
    status,
    ...options,
  });
}

/** Runs a store operation; an error of the database becomes `store_error`, with the cause for the log only. */
export async function storing<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (isCodedError(error)) throw error;
    throw channelError('store_error', { cause: error });
  }
}
