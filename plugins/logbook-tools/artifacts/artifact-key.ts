import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import type { Args } from '../parts.js';
import { toolError } from '../tool-error.js';

/** The key that arguments name, by URI or by path. @throws MortiseError `MISSING_REQUIRED_PARAMETER`, `INVALID_URI`. */
export function artifactKey({ uri, path }: Args, artifacts: ArtifactStore): string {
  if (typeof uri === 'string') return artifacts.keyOf(uri);
  if (typeof path === 'string') return path;
  throw toolError('MISSING_REQUIRED_PARAMETER', { parameter: 'uri, path' });
}

/** What the audit trail calls it. */
export function artifactTarget({ uri, path }: Args): string {
  return `artifact:${String(uri ?? path ?? '').slice(0, 200)}`;
}
