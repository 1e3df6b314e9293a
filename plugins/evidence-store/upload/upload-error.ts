interface Row {
  readonly retryable: boolean;
  readonly message: string;
  readonly suggestion: string;
}

/** The errors of an upload. `{name}` is filled from the facts, which are also members of the result. */
const errors = {
  MISSING_REQUIRED_PARAMETER: {
    retryable: false,
    message: 'The argument {parameter} is missing.',
    suggestion: 'Give content and content_type.',
  },
  EVIDENCE_SIZE_LIMIT_EXCEEDED: {
    retryable: false,
    message: 'The evidence has {size_bytes} bytes; the limit is {max_bytes}.',
    suggestion: 'Upload only the relevant part, or store the file elsewhere and refer to it by URI and sha256.',
  },
  EVIDENCE_CONTENT_TYPE_NOT_ALLOWED: {
    retryable: false,
    message: 'The content type {content_type} is not allowed.',
    suggestion: 'Use one of allowed_types.',
  },
  EVIDENCE_CONTENT_INVALID: {
    retryable: false,
    message: 'The content cannot be read: it is neither valid base64 nor valid text.',
    suggestion: 'Send plain text, or base64 with a content_type that ends in ;base64.',
  },
  EVIDENCE_ITEM_NOT_FOUND: {
    retryable: false,
    message: 'There is no item {item_id}.',
    suggestion: 'Omit item_id to create an item.',
  },
  EVIDENCE_WRITE_ERROR: {
    retryable: true,
    message: 'The evidence could not be written to the store; nothing was saved.',
    suggestion: 'Try again later; if it persists, check the artifact store.',
  },
} as const satisfies Record<string, Row>;

export type UploadErrorCode = keyof typeof errors;

export interface UploadFailure extends Row {
  readonly ok: false;
  readonly error_code: UploadErrorCode;
  readonly correlation_id: string;
}

/** Creates the result for an error of the table. */
export function uploadFailure(
  code: UploadErrorCode,
  facts: Readonly<Record<string, unknown>>,
  correlationId: string,
): UploadFailure {
  const { retryable, message, suggestion }: Row = errors[code];
  return {
    ok: false,
    error_code: code,
    retryable,
    message: message.replaceAll(/\{(\w+)\}/g, (all, name: string) => String(facts[name] ?? all)),
    suggestion,
    correlation_id: correlationId,
    ...facts,
  };
}
