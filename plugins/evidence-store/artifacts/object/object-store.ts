import type { GuardedFetch } from 'mortise/sdk';
import type { ObjectStoreConfig } from '../../config.js';
import { artifactError } from '../artifact-error.js';
import type { ByteStore } from '../byte-store.js';
import { type ObjectStoreAccess, sendSigned } from './send-signed.js';

function bucketUrl(endpoint: string, bucket: string, pathStyle: boolean): string {
  const url = new URL(endpoint);
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  return pathStyle ? `${url.origin}/${bucket}/` : `${url.origin}/`;
}

/** @throws MortiseError `OBJECT_STORE_NOT_CONFIGURED`. */
function accessOf(config: ObjectStoreConfig): ObjectStoreAccess {
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

function refused(response: Response): Error {
  return artifactError('OBJECT_STORE_ERROR', { status: response.status });
}

/** Anything but success. Its body is not looked at: the connection is free again. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel();
}

async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw artifactError('PAYLOAD_TOO_LARGE', { max_bytes: maxBytes });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Objects of one bucket of an S3-compatible store. */
export function createObjectStore(config: ObjectStoreConfig, fetch: GuardedFetch): ByteStore {
  return {
    backend: 'object',
    uriPrefix: `s3://${config.bucket ?? ''}/`,
    write: async (key, body, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'PUT', key, body, signal }, async (response) => {
        await discard(response);
        if (!response.ok) throw refused(response);
      }),
    read: async (key, maxBytes, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'GET', key, signal }, async (response) => {
        if (response.ok) return readBody(response, maxBytes);
        await discard(response);
        if (response.status === 404) return null;
        throw refused(response);
      }),
    size: async (key, signal) =>
      sendSigned(fetch, accessOf(config), { method: 'HEAD', key, signal }, async (response) => {
        await discard(response);
        // Who may not list a bucket is told 403 of what is not there. A wrong key shows when it comes to writing.
        if (response.status === 404 || response.status === 403) return null;
        const length = Number(response.headers.get('content-length') ?? Number.NaN);
        if (!response.ok || !Number.isInteger(length)) throw refused(response);
        return length;
      }),
  };
}
