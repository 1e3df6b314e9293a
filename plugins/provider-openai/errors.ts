import { MortiseError, redactSecrets } from 'mortise/sdk';

const table = {
  provider_not_configured: [400, 'provider api_key is required'],
  provider_not_supported: [400, 'provider does not support attachments'],
  provider_request_failed: [502, 'provider stream request failed'],
  provider_invalid_reply: [502, 'provider response is not valid json'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

/** Facts of a failure that its reader can use. */
export interface ProviderFailureDetails {
  /** What the API says of it, without secrets. */
  readonly runner_message?: string | undefined;
  /** A short name of what went wrong beneath. */
  readonly cause?: string | undefined;
  /** HTTP status of the API. */
  readonly provider_status?: number | undefined;
  /** How often it was tried, for kinds that are tried again. */
  readonly attempts?: number | undefined;
}

/** A stream that ended where nothing said that the answer is complete. */
export const incompleteStream = 'incomplete_stream';

/** Code points of the API's own words that are passed on. */
const wordsLimit = 2_000;

/** An error of this plugin; `message` words a case more closely than its row. */
export function providerError(
  code: keyof typeof table,
  message?: string,
  details: ProviderFailureDetails = {},
): MortiseError {
  const [status, sentence] = table[code];
  const { runner_message: words, ...rest } = details;
  const shown = Object.entries({ ...rest, ...(words ? { runner_message: cut(redactSecrets(words)) } : {}) }).filter(
    ([, value]) => value !== undefined,
  );
  return new MortiseError(code, message ?? sentence, {
    status,
    ...(shown.length === 0 ? {} : { details: Object.fromEntries(shown) }),
  });
}

function cut(text: string): string {
  return text.length <= wordsLimit ? text : [...text.slice(0, 2 * wordsLimit)].slice(0, wordsLimit).join('');
}
