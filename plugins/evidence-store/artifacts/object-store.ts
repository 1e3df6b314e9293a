import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { type GuardedFetch, readResponse } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import { artifactError } from './artifact-error.js';
import type { ByteStore } from './byte-store.js';

/** Address and credentials of a bucket. */
interface ObjectStoreAccess {
  /** With a trailing slash. */
  readonly bucketUrl: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

interface SignedRequest {
  readonly method: 'PUT' | 'GET' | 'HEAD';
  readonly key: string;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal | undefined;
}

const MAX_RETRIES = 3;
const FIRST_DELAY_MS = 100;
const ATTEMPT_TIMEOUT_MS = 8_000;

/** Runs with a signal that is aborted by the caller's signal or by the time limit. */
async function withinTime<R>(outer: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, ATTEMPT_TIMEOUT_MS);
  outer?.addEventListener('abort', stop, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', stop);
  }
}

/** Encodes also what `encodeURIComponent` leaves, as the signature does, so that path and signature agree. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function isTransient(status: number): boolean {
  return status === 429 || status >= 500;
}

/**
 * Sends a request, signed by AWS Signature Version 4, and reads its response with `read`. Failures of the network, a busy
 * store and truncated responses are retried up to three times with exponential delays.
 * @throws MortiseError `OBJECT_STORE_ERROR`.
 */
async function sendSigned<R>(
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
    if (!isTransient(response.status)) return { value: await read(response) };
    await response.body?.cancel();
    return { busy: response.status };
  };

  for (let retries = 0; ; retries += 1) {
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
    if (retries === MAX_RETRIES)
      throw artifactError('OBJECT_STORE_ERROR', status === undefined ? {} : { status }, cause);
    await delay(FIRST_DELAY_MS * 2 ** retries * (0.75 + Math.random() / 2), undefined, { signal: request.signal });
  }
}

function bucketUrl(endpoint: string, bucket: string, pathStyle: boolean): string {
  const url = new URL(endpoint);
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  return pathStyle ? `${url.origin}/${bucket}/` : `${url.origin}/`;
}

/** @throws MortiseError `OBJECT_STORE_NOT_CONFIGURED`. */
function accessOf(config: Config['object_store']): ObjectStoreAccess {
  const { endpoint, bucket, region, access_key_id, secret_access_key, path_style } = config;
  if (
    endpoint === undefined ||
    bucket === undefined ||
    access_key_id === undefined ||
    secret_access_key === undefined
  ) {
    throw artifactError('OBJECT_STORE_NOT_CONFIGURED');
  }
  return {
    bucketUrl: bucketUrl(endpoint, bucket, path_style),
    region,
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
  };
}

function unexpected(response: Response): Error {
  return artifactError('OBJECT_STORE_ERROR', { status: response.status });
}

/** Discards the body, which frees the connection. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel();
}

/** Objects of one bucket of an S3-compatible store. */
export function createObjectStore(config: Config['object_store'], fetch: GuardedFetch): ByteStore {
  return {
    backend: 'object',
    uriPrefix: `s3://${config.bucket ?? ''}/`,
    write: async (key, body, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'PUT', key, body, signal }, async (response) => {
        await discard(response);
        if (!response.ok) throw unexpected(response);
      }),
    read: async (key, maxBytes, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'GET', key, signal }, async (response) => {
        if (response.ok) {
          const { bytes, isCut } = await readResponse(response, maxBytes);
          if (isCut) throw artifactError('PAYLOAD_TOO_LARGE', { max_bytes: maxBytes });
          return bytes;
        }
        await discard(response);
        if (response.status === 404) return null;
        throw unexpected(response);
      }),
    size: async (key, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'HEAD', key, signal }, async (response) => {
        await discard(response);
        // A key without the right to list gets 403 for an absent object. A wrong key fails when writing.
        if (response.status === 404 || response.status === 403) return null;
        const length = Number(response.headers.get('content-length') ?? Number.NaN);
        if (!response.ok || !Number.isInteger(length)) throw unexpected(response);
        return length;
      }),
  };
}
