import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import type { GuardedFetch } from 'mortise/sdk';
import { artifactError } from '../artifact-error.js';

/** A store whose address and key are known. */
export interface ObjectStoreAccess {
  /** Address of the bucket, with a slash at the end. */
  readonly bucketUrl: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface SignedRequest {
  readonly method: 'PUT' | 'GET' | 'HEAD';
  readonly key: string;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal | undefined;
}

const RETRIES = 3;
const FIRST_WAIT_MS = 100;
const ATTEMPT_MS = 8_000;

/** Runs with a signal that is aborted by the caller's, or when the time is up. */
async function withinTime<R>(outer: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, ATTEMPT_MS);
  outer?.addEventListener('abort', stop, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', stop);
  }
}

/** As the signature has it: what `encodeURIComponent` leaves is encoded too, so that path and signature are alike. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

/**
 * Sends a request, signed by AWS Signature Version 4, and reads its answer with `read`. What the network, a busy store
 * or a broken answer spoil is tried three times more, a little later each time.
 * @throws MortiseError `OBJECT_STORE_ERROR`.
 */
export async function sendSigned<R>(
  fetch: GuardedFetch,
  access: ObjectStoreAccess,
  request: SignedRequest,
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const bodyHash = hash('sha256', request.body ?? '', 'hex');
  const url = access.bucketUrl + request.key.split('/').map(encodeName).join('/');

  const attempt = async (signal: AbortSignal): Promise<{ readonly value: R } | { readonly busy: number }> => {
    const signed = await new AwsV4Signer({
      method: request.method,
      url,
      headers: { 'x-amz-content-sha256': bodyHash },
      accessKeyId: access.accessKeyId,
      secretAccessKey: access.secretAccessKey,
      service: 's3',
      region: access.region,
    }).sign();
    const response = await fetch(signed.url, {
      method: request.method,
      headers: Object.fromEntries(signed.headers),
      ...(request.body && { body: Buffer.from(request.body) }),
      redirect: 'manual',
      signal,
    });
    if (!isPassing(response.status)) return { value: await read(response) };
    await response.body?.cancel();
    return { busy: response.status };
  };

  for (let tried = 0; ; tried += 1) {
    request.signal?.throwIfAborted();
    let cause: unknown;
    let status: number | undefined;
    try {
      const outcome = await withinTime(request.signal, attempt);
      if ('value' in outcome) return outcome.value;
      status = outcome.busy;
    } catch (error) {
      request.signal?.throwIfAborted();
      if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
      cause = error;
    }
    if (tried === RETRIES) throw artifactError('OBJECT_STORE_ERROR', status === undefined ? {} : { status }, cause);
    await delay(FIRST_WAIT_MS * 2 ** tried * (0.75 + Math.random() / 2), undefined, { signal: request.signal });
  }
}
