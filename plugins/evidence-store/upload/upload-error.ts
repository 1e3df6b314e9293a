interface Row {
  readonly retryable: boolean;
  readonly message: string;
  readonly suggestion: string;
}

/** What an upload can fail with, and what to do then. `{name}` is filled from the facts, which are also members of the answer. */
const errors = {
  MISSING_REQUIRED_PARAMETER: {
    retryable: false,
    message: 'The argument {parameter} is missing.',
    suggestion: 'Give content and content_type.',
  },
  EVIDENCE_SIZE_LIMIT_EXCEEDED: {
    retryable: false,
    message: 'The evidence has {size_bytes} bytes; the limit is {max_bytes}.',
    suggestion: 'Upload the part that proves something, or keep the file elsewhere and refer to it by URI and sha256.',
  },
  EVIDENCE_CONTENT_TYPE_NOT_ALLOWED: {
    retryable: false,
    message: 'The content type {content_type} is not allowed.',
    suggestion: 'Use one of allowed_types.',
  },
  EVIDENCE_CONTENT_INVALID: {
    retryable: false,
    message: 'The content cannot be read: it is neither valid base64 nor valid text.',
    suggestion: 'Send text as it is, or base64 with a content_type that ends in ;base64.',
  },
  EVIDENCE_ITEM_NOT_FOUND: {
    retryable: false,
    message: 'There is no item {item_id}.',
    suggestion: 'Leave item_id out to have an item made.',
  },
  EVIDENCE_WRITE_ERROR: {
    retryable: true,
    message: 'The evidence could not be written to the store; nothing was kept.',
    suggestion: 'Try again later; if it goes on, have the artifact store looked at.',
  },
} as const satisfies Record<string, Row>;

export type UploadErrorCode = keyof typeof errors;

export interface UploadFailure extends Row {
  readonly ok: false;
  readonly error_code: UploadErrorCode;
  readonly correlation_id: string;
}

/** Makes the answer of a row. */
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
