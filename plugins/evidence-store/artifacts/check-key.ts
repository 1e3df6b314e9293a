import { artifactError } from './artifact-error.js';

/** Bytes. */
const LONGEST_KEY = 900;
const LONGEST_NAME = 200;
const CONTROL = /[\p{Cc}\p{Surrogate}\\]/u;

/**
 * A key is a relative path with forward slashes that leads nowhere but down.
 * @throws MortiseError `PATH_TRAVERSAL_ERROR`.
 */
export function checkKey(key: string): string {
  const names = key.split('/');
  const leadsAstray = names.some(
    (name) => name === '' || name === '.' || name === '..' || Buffer.byteLength(name) > LONGEST_NAME,
  );
  if (leadsAstray || Buffer.byteLength(key) > LONGEST_KEY || CONTROL.test(key))
    throw artifactError('PATH_TRAVERSAL_ERROR');
  return key;
}
