import { MortiseError } from 'mortise/sdk';

/** The errors of these tools. `{name}` is filled from the facts. */
const errors = {
  MISSING_REQUIRED_PARAMETER: 'One of {parameter} is required.',
  INVALID_URI: 'The URI does not refer to anything stored here.',
  NOT_FOUND: 'There is no such {what}.',
  PAYLOAD_TOO_LARGE: 'The content is larger than the requested limit.',
  CHECKSUM_MISMATCH: 'The content does not have the expected sha256.',
} as const;

/** An error that is returned as `ok: false`. */
export function toolError(code: keyof typeof errors, facts: Readonly<Record<string, unknown>> = {}): MortiseError {
  const message = errors[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(facts[name] ?? name));
  return new MortiseError(code, message, { status: 400, details: facts });
}

/** Codes that are returned as `ok: false`, including those of the artifact store. All others are errors of the call. */
const resultCodes: ReadonlySet<string> = new Set([
  ...Object.keys(errors),
  'PATH_TRAVERSAL_ERROR',
  'ARTIFACT_WRITE_DISABLED',
  'ARTIFACT_OVERWRITE_DENIED',
  'ARTIFACT_SIZE_LIMIT_EXCEEDED',
  'OBJECT_STORE_NOT_CONFIGURED',
  'OBJECT_STORE_ERROR',
  'ARTIFACT_WRITE_ERROR',
  'ARTIFACT_NOT_FOUND',
  'ARTIFACT_READ_ERROR',
]);

/** Whether an error is returned as `ok: false`. */
export function isResultError(error: unknown): error is MortiseError {
  return error instanceof MortiseError && resultCodes.has(error.code);
}
