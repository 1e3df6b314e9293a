import { MortiseError } from 'mortise/sdk';
import { type ArtifactErrorCode, artifactError } from '../artifact-error.js';

/** The code of a file system error. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error ? Reflect.get(error, 'code') : undefined;
}

/** Whether an error says that there is nothing under a path. */
export function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Runs, and words whatever the file system throws as one error without paths. */
export async function wordedAs<R>(code: ArtifactErrorCode, run: () => Promise<R>): Promise<R> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof MortiseError) throw error;
    throw artifactError(code, { cause: String(codeOf(error) ?? 'unknown') }, error);
  }
}
