import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { MortiseError } from '../sdk/index.js';

const clearPrefix = 'clear:';
const sealedPrefix = 'aes-256-gcm:';

/** Bytes, as NIST SP 800-38D recommends them for GCM. */
const nonceLength = 12;
const tagLength = 16;

/** The stored form of a secret: its prefix says whether it is encrypted. `place` is authenticated, not stored. */
export function sealSecret(text: string, place: string, key: Uint8Array | undefined): string {
  if (key === undefined) return `${clearPrefix}${text}`;
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
  cipher.setAAD(Buffer.from(place));
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${sealedPrefix}${sealed.toString('base64')}`;
}

/** @throws MortiseError `secret_unreadable` */
export function unsealSecret(stored: string, place: string, key: Uint8Array | undefined): string {
  if (stored.startsWith(clearPrefix)) return stored.slice(clearPrefix.length);
  if (!stored.startsWith(sealedPrefix) || key === undefined) throw unreadable(place);
  const sealed = Buffer.from(stored.slice(sealedPrefix.length), 'base64');
  try {
    const nonce = sealed.subarray(0, nonceLength);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
    decipher.setAAD(Buffer.from(place));
    decipher.setAuthTag(sealed.subarray(-tagLength));
    return decipher.update(sealed.subarray(nonceLength, -tagLength), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw unreadable(place);
  }
}

function unreadable(place: string): MortiseError {
  return new MortiseError('secret_unreadable', `The stored secret of ${place} cannot be decrypted.`, {
    hint: 'Set MORTISE_SECRET_KEY to the key that it was stored with, or store the secret again.',
  });
}
