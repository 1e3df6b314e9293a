const PLAIN = /^[A-Z0-9_]{1,64}$/;

/** Failures before a connection stood: nothing of the request can have reached the server. */
const BEFORE_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EPROTO',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const BEFORE_REQUEST = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_)/;

/** The code of a network error, wherever in its chain of causes it is; `UNKNOWN` for none. Never holds an address. */
export function networkCode(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const code: unknown = Reflect.get(current, 'code');
    if (typeof code === 'string' && PLAIN.test(code)) return code;
    if (current instanceof AggregateError && current.errors.length > 0) return networkCode(current.errors[0]);
  }
  return 'UNKNOWN';
}

/** Whether an error of that code can come after the request was sent. */
export function mayHaveBeenSent(code: string): boolean {
  return !BEFORE_CONNECTION.has(code) && !BEFORE_REQUEST.test(code);
}

/** The runtime's client hides a 407 behind a failure without code or words; it gives no other such failure. */
export function isProxyChallenge(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message === '' && Reflect.get(cause, 'code') === undefined;
}
