import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/** DER of an Ed25519 private key (RFC 8410) up to its 32 bytes. */
const privateKeyPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const seedBytes = 32;

/** How far the time of a signature may be from now, seconds. */
const maxAgeSeconds = 300;

/** The bot's key: its seed is the bot's secret, repeated and cut to 32 bytes. */
function keyOf(clientSecret: string): KeyObject {
  const secret = Buffer.from(clientSecret);
  const seed = Buffer.alloc(seedBytes);
  for (let at = 0; at < seedBytes; at += secret.length) secret.copy(seed, at);
  return createPrivateKey({ key: Buffer.concat([privateKeyPrefix, seed]), format: 'der', type: 'pkcs8' });
}

interface SignedBytes {
  /** Hex. */
  readonly signature: string;
  /** Unix seconds, as sent. */
  readonly timestamp: string;
  readonly rawBody: Uint8Array;
}

/** Whether QQ signed the body, at most five minutes ago. @param now epoch milliseconds */
export function isSignedByPlatform(
  clientSecret: string,
  { signature, timestamp, rawBody }: SignedBytes,
  now: number,
): boolean {
  if (clientSecret === '' || !/^\d{1,12}$/.test(timestamp) || !/^[0-9a-f]{128}$/i.test(signature)) return false;
  if (Math.abs(now / 1_000 - Number(timestamp)) > maxAgeSeconds) return false;
  const content = Buffer.concat([Buffer.from(timestamp), rawBody]);
  return verify(null, content, createPublicKey(keyOf(clientSecret)), Buffer.from(signature, 'hex'));
}

/**
 * The answer to QQ's validation of an address: hex signature over time and token. Undefined unless the time has digits
 * only and the token no character that begins a JSON body: such a signature could be used to forge an event.
 */
export function signValidation(clientSecret: string, eventTs: string, plainToken: string): string | undefined {
  if (clientSecret === '' || !/^\d{1,16}$/.test(eventTs) || !/^[\w.~-]{1,256}$/.test(plainToken)) return undefined;
  return sign(null, Buffer.from(`${eventTs}${plainToken}`), keyOf(clientSecret)).toString('hex');
}
