import { isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';

/** Where and how a webhook is sent. */
export interface WebhookConfig {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  /** Milliseconds for one attempt. */
  readonly timeoutMs: number;
  /** Empty: requests are not signed. */
  readonly secret: string;
  readonly maxRetries: number;
}

/** The receiver did not accept a text, or could not be reached. */
export function webhookFailed(message: string, cause?: unknown): MortiseError {
  return new MortiseError('channel_dispatch_failed', message, { status: 502, cause });
}

/** Methods without a body, and methods that `fetch` does not allow. */
const withoutBody = ['GET', 'HEAD', 'CONNECT', 'TRACE', 'TRACK'];

/** @throws channel_dispatch_failed */
export function readWebhookConfig(config: JsonObject): WebhookConfig {
  const { url, method = 'POST', headers = {}, timeout_seconds: seconds, secret, max_retries: retries } = config;
  return {
    url: readUrl(url),
    method: readMethod(method),
    headers: readHeaders(headers),
    timeoutMs: numberIn(seconds, { from: 0.01, to: 30, otherwise: 5 }) * 1_000,
    secret: typeof secret === 'string' ? secret : '',
    maxRetries: Math.trunc(numberIn(retries, { from: 0, to: 5, otherwise: 2 })),
  };
}

function readUrl(text: unknown): URL {
  if (typeof text !== 'string' || text.trim() === '') throw webhookFailed('channel webhook requires config.url');
  const url = URL.parse(text.trim());
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw webhookFailed('channel webhook requires config.url to be an http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw webhookFailed('channel webhook requires config.url without credentials; use config.headers');
  }
  return url;
}

function readMethod(method: unknown): string {
  const name = typeof method === 'string' ? method.trim().toUpperCase() || 'POST' : '';
  if (!/^[A-Z]{1,16}$/.test(name) || withoutBody.includes(name)) {
    throw webhookFailed('channel webhook requires config.method to be one with a body, such as POST');
  }
  return name;
}

function readHeaders(headers: unknown): Headers {
  try {
    if (isJsonObject(headers)) return new Headers(headers as Record<string, string>);
  } catch {
    // The error of Headers quotes the value, which may be a secret.
  }
  throw webhookFailed('channel webhook requires config.headers to be an object of valid HTTP headers');
}

function numberIn(value: unknown, { from, to, otherwise }: { from: number; to: number; otherwise: number }): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(value, from), to) : otherwise;
}
