import { MortiseError } from 'mortise/sdk';

interface Row {
  readonly status: number;
  readonly message: string;
  readonly retryable?: true;
}

/** The errors of artifacts. */
const errors = {
  INVALID_URI: { status: 400, message: 'The URI does not name a file of this store.' },
  PATH_TRAVERSAL_ERROR: {
    status: 400,
    message: 'The path is not valid: it leaves the store, contains a link, names a folder, or is too long.',
  },
  ARTIFACT_WRITE_DISABLED: { status: 403, message: 'The artifact store is read-only.' },
  ARTIFACT_OVERWRITE_DENIED: { status: 409, message: 'There is already a different file under that path.' },
  ARTIFACT_SIZE_LIMIT_EXCEEDED: { status: 413, message: 'The file is larger than the artifact store allows.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The file is larger than the requested limit.' },
  ARTIFACT_NOT_FOUND: { status: 404, message: 'There is no file under that path.' },
  ARTIFACT_WRITE_ERROR: { status: 503, message: 'The file could not be written.', retryable: true },
  ARTIFACT_READ_ERROR: { status: 503, message: 'The file could not be read.', retryable: true },
  OBJECT_STORE_NOT_CONFIGURED: {
    status: 503,
    message: 'The object store needs an endpoint, a bucket and a key (MORTISE_OBJECT_STORE_ENDPOINT, …).',
  },
  OBJECT_STORE_ERROR: { status: 503, message: 'The request to the object store failed.', retryable: true },
} as const satisfies Record<string, Row>;

export type ArtifactErrorCode = keyof typeof errors;

/** Creates an error of the table. `facts` must not contain a path of the machine. */
export function artifactError(
  code: ArtifactErrorCode,
  facts: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): MortiseError {
  const { status, message, retryable }: Row = errors[code];
  return new MortiseError(code, message, { status, retryable: retryable ?? false, details: facts, cause });
}
