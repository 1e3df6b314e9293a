import { MortiseError } from 'mortise/sdk';

interface Row {
  readonly status: number;
  readonly message: string;
  readonly retryable?: true;
}

/** What can be wrong with artifacts. */
const errors = {
  INVALID_URI: { status: 400, message: 'The URI does not name a file of this store.' },
  PATH_TRAVERSAL_ERROR: {
    status: 400,
    message:
      'The path is none of a file here: it leads out of the store or over a link, names a folder, or is too long.',
  },
  ARTIFACT_WRITE_DISABLED: { status: 403, message: 'The artifact store takes no new files.' },
  ARTIFACT_OVERWRITE_DENIED: { status: 409, message: 'There is another file under that path already.' },
  ARTIFACT_SIZE_LIMIT_EXCEEDED: { status: 413, message: 'The file is larger than the artifact store takes.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The file is larger than was asked for.' },
  ARTIFACT_NOT_FOUND: { status: 404, message: 'There is no file under that path.' },
  ARTIFACT_WRITE_ERROR: { status: 503, message: 'The file could not be written.', retryable: true },
  ARTIFACT_READ_ERROR: { status: 503, message: 'The file could not be read.', retryable: true },
  OBJECT_STORE_NOT_CONFIGURED: {
    status: 503,
    message: 'The object store needs an endpoint, a bucket and a key (MORTISE_OBJECT_STORE_ENDPOINT, …).',
  },
  OBJECT_STORE_ERROR: { status: 503, message: 'The object store did not do what it was asked.', retryable: true },
} as const satisfies Record<string, Row>;

export type ArtifactErrorCode = keyof typeof errors;

/** Makes the error of a row. `facts` hold no path of the machine. */
export function artifactError(
  code: ArtifactErrorCode,
  facts: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): MortiseError {
  const { status, message, retryable }: Row = errors[code];
  return new MortiseError(code, message, { status, retryable: retryable ?? false, details: facts, cause });
}
