import type { HttpService, Principal } from 'mortise/sdk';

/**
 * The mask under which the APIs of people's own credentials (variables, provider keys, channel secrets) show one: the first
 * and last three characters of a text with more than six, else only stars. An empty text has no mask: there is no secret.
 */
export function maskCredential(value: string): string {
  if (value === '') return '';
  const points = [...value];
  return points.length <= 6 ? '***' : `${points.slice(0, 3).join('')}***${points.slice(-3).join('')}`;
}

/** The value to store: a client that read a mask may write it back, which leaves the stored value unchanged. */
export function unmaskCredential(given: string, stored: string | undefined): string {
  return stored !== undefined && given === maskCredential(stored) ? stored : given;
}

/** Whether a text has the form of a mask. */
export function isCredentialMask(text: string): boolean {
  return /^(?:\*\*\*|.{3}\*\*\*.{3})$/su.test(text);
}

/**
 * Whether a caller may be shown credentials in clear: only with the admin right, and only where that right is proved by a
 * configured key.
 */
export function mayReveal(
  { admin }: Principal,
  { keyed, adminKeyed }: Pick<HttpService, 'keyed' | 'adminKeyed'>,
): boolean {
  return admin && (keyed || adminKeyed);
}
