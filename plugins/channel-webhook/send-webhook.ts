import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelMessage, type GuardedFetch, isCodedError, type JsonObject, retryAfterMs } from 'mortise/sdk';
import { readWebhookConfig, type WebhookConfig, webhookFailed } from './webhook-config.js';

/** Statuses after which a retry may succeed. */
const retriedStatuses = new Set([429, 502, 503, 504]);
/** Redirects after which the request is repeated with its method and body. */
const redirectStatuses = new Set([301, 302, 307, 308]);
const maxRedirects = 3;

const firstWaitMs = 200;
/** Also the upper limit of `Retry-After`, because the caller of the turn waits. */
const maxWaitMs = 3_000;

/** One HTTP request did not succeed. */
interface Failure {
  readonly error: unknown;
  readonly isRetried: boolean;
  /** `Retry-After` of the receiver, milliseconds. */
  readonly waitMs?: number | undefined;
}

/**
 * Sends a text to the configured endpoint. All attempts have the same body and idempotency key.
 * @throws channel_dispatch_failed, network_denied
 */
export async function sendWebhook(fetch: GuardedFetch, message: ChannelMessage, signal: AbortSignal): Promise<void> {
  const config = readWebhookConfig(message.config);
  const { userId, sessionId, text, deliveryId } = message;
  const sentAt = new Date().toISOString();
  const body = JSON.stringify({ user_id: userId, session_id: sessionId, text, sent_at: sentAt });
  for (let attempt = 1; ; attempt += 1) {
    const failure = await sendOnce(
      fetch,
      { ...config, headers: signedHeaders(config, body, deliveryId) },
      body,
      signal,
    );
    if (!failure) return;
    if (!failure.isRetried || attempt > config.maxRetries) throw failure.error;
    await sleep(failure.waitMs ?? waitBefore(attempt), undefined, { signal });
  }
}

/**
 * The problem of a configuration, as far as it can be determined before a text is sent. The URL may be missing: it is
 * configured later.
 */
export async function checkWebhook(
  fetch: Pick<GuardedFetch, 'check'>,
  config: JsonObject,
): Promise<string | undefined> {
  const isMissing = typeof config.url === 'string' && config.url.trim() === '';
  try {
    const { url } = readWebhookConfig(isMissing ? { ...config, url: 'https://example.com' } : config);
    await fetch.check(url, { linkLocal: 'refused' });
    return undefined;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.message;
  }
}

/** Milliseconds before a retry, from 1: 0.2 s, doubled each time, ±20 %. */
function waitBefore(retry: number): number {
  return firstWaitMs * 2 ** (retry - 1) * (0.8 + 0.4 * Math.random());
}

/** The configured headers, overlaid by the headers that the receiver relies on. */
function signedHeaders({ headers, secret }: WebhookConfig, body: string, deliveryId: string): Headers {
  const signed = new Headers(headers);
  if (!signed.has('content-type')) signed.set('content-type', 'application/json');
  signed.set('idempotency-key', headerText(deliveryId));
  if (secret === '') return signed;
  const timestamp = `${Math.floor(Date.now() / 1_000)}`;
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  signed.set('x-mortise-timestamp', timestamp);
  signed.set('x-mortise-signature', `sha256=${signature}`);
  return signed;
}

/** A text as a header value: ids that callers choose, such as those of scheduled jobs, may have any characters. */
function headerText(text: string): string {
  return /^[\x21-\x7e]+$/.test(text) ? text : encodeURIComponent(text.toWellFormed());
}

/** Makes one attempt, redirects on the same host included. @returns undefined when the text was accepted */
async function sendOnce(
  fetch: GuardedFetch,
  { url: first, method, headers, timeoutMs }: WebhookConfig,
  body: string,
  caller: AbortSignal,
): Promise<Failure | undefined> {
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([caller, limit]);
  try {
    let url = first;
    for (let redirects = 0; ; redirects += 1) {
      const init = { method, headers, body, signal, redirect: 'manual', linkLocal: 'refused' } as const;
      const response = await fetch(url, init);
      await response.body?.cancel();
      if (response.ok) return undefined;
      const next = redirects < maxRedirects ? redirectTarget(url, response) : undefined;
      if (!next) return refusal(response);
      url = next;
    }
  } catch (error) {
    caller.throwIfAborted();
    if (isCodedError(error)) return { error, isRetried: false };
    if (limit.aborted) {
      const seconds = timeoutMs / 1_000;
      return { error: webhookFailed(`webhook did not answer within ${seconds} s`, error), isRetried: false };
    }
    return { error: webhookFailed('webhook could not be reached', error), isRetried: true };
  }
}

/** Where to send the request again: on the same host and port, and never from https to http. */
function redirectTarget(from: URL, { status, headers }: Response): URL | undefined {
  const location = headers.get('location');
  if (!redirectStatuses.has(status) || location === null) return undefined;
  const to = URL.parse(location, from.href);
  if (!to || to.hostname !== from.hostname) return undefined;
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:';
  return isUpgrade || to.origin === from.origin ? to : undefined;
}

function refusal({ status, headers }: Response): Failure {
  const waitMs = retryAfterMs(headers);
  return {
    error: webhookFailed(`webhook returned status ${status}`),
    isRetried: retriedStatuses.has(status),
    waitMs: waitMs && Math.min(waitMs, maxWaitMs),
  };
}
