import { posix } from 'node:path';
import { activePath, type DocumentKind, providersPath } from './mutation.js';

export interface AllowedPath {
  readonly path: string;
  readonly kind: DocumentKind;
}

const folders = ['prompts/', 'prompt/', 'docs/AI/'];
const documents: Readonly<Record<string, DocumentKind>> = { [providersPath]: 'providers', [activePath]: 'active' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const refused = /[\\\u0000-\u001f\u007f]|^\/|^[A-Za-z]:|\/$/;

/** The document behind a path of a caller, percent-decoded once; undefined for a path that may not be changed. */
export function allowedPath(given: string): AllowedPath | undefined {
  const decoded = decode(given.trim());
  if (decoded === undefined || !decoded.isWellFormed() || refused.test(decoded) || decoded.split('/').includes('..'))
    return undefined;
  const path = posix.normalize(decoded);
  const kind = Object.hasOwn(documents, path) ? documents[path] : undefined;
  if (kind) return { path, kind };
  return folders.some((folder) => path.startsWith(folder) && path !== folder) ? { path, kind: 'text' } : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
