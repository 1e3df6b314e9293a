import { argumentError, isUnstorableText, type Principal } from 'mortise/sdk';

/** Arguments of `evidence_upload`. Empty strings count as absent. */
export interface UploadRequest {
  readonly content: string | null;
  readonly contentType: string | null;
  /** The caller states that the content is base64. */
  readonly isBase64: boolean;
  /** The caller names an encoding of the content that is not supported. */
  readonly isUnsupportedEncoding: boolean;
  readonly title: string | null;
  readonly projectKey: string | null;
  readonly itemId: number | null;
  /** The actor that the caller names. */
  readonly claimedActor: string | null;
  /** The claimed actor, else the one the principal is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

type Json = Readonly<Record<string, unknown>>;

const TOOL = 'evidence_upload';
const PROJECT_KEY = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MAX_ACTOR = 128;
const MAX_TITLE = 500;
const CONTROL = /[\p{Cc}\p{Surrogate}]/u;

/** Names for content that is the text itself. */
const textEncodings: readonly unknown[] = ['', 'text', 'utf-8', 'utf8', 'identity'];

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

export function readUploadRequest(
  args: Json,
  { principal, correlationId }: { readonly principal: Principal; readonly correlationId: string },
): UploadRequest {
  const claimedActor = textOf(args.actor_user_id);
  const { content_encoding } = args;
  const encoding = typeof content_encoding === 'string' ? content_encoding.toLowerCase() : (content_encoding ?? '');
  return {
    content: textOf(args.content),
    contentType: textOf(args.content_type),
    isBase64: encoding === 'base64',
    isUnsupportedEncoding: encoding !== 'base64' && !textEncodings.includes(encoding),
    title: textOf(args.title),
    projectKey: typeof args.project_key === 'string' ? args.project_key : null,
    itemId: typeof args.item_id === 'number' ? args.item_id : null,
    claimedActor,
    actorUserId: claimedActor ?? principal.actor ?? null,
    principal,
    correlationId,
  };
}

/** Checks what a schema cannot express. @throws MortiseError `INVALID_PARAM_VALUE` (422). */
export function checkUploadRequest(request: UploadRequest): void {
  const { projectKey, claimedActor, title } = request;
  if (request.isUnsupportedEncoding) {
    throw argumentError(TOOL, '/content_encoding', 'must be base64, or utf-8 for plain text');
  }
  if (projectKey !== null && !PROJECT_KEY.test(projectKey)) {
    throw argumentError(
      TOOL,
      '/project_key',
      'must be 1 to 64 letters, digits, dots, dashes or underscores, without two dots in a row',
    );
  }
  if (claimedActor !== null && (claimedActor.trim() !== claimedActor || CONTROL.test(claimedActor))) {
    throw argumentError(TOOL, '/actor_user_id', 'must not have control characters or surrounding blanks');
  }
  if (claimedActor !== null && [...claimedActor].length > MAX_ACTOR) {
    throw argumentError(TOOL, '/actor_user_id', `must have at most ${MAX_ACTOR} characters`);
  }
  if (title !== null && ([...title].length > MAX_TITLE || isUnstorableText(title))) {
    throw argumentError(TOOL, '/title', `must have at most ${MAX_TITLE} characters and no NUL`);
  }
}

/** The arguments of the published schema, and one that it does not list. */
const knownArguments: readonly string[] = [
  'content',
  'content_type',
  'title',
  'actor_user_id',
  'project_key',
  'item_id',
  'content_encoding',
];

/** One warning for each argument that is ignored. */
export function unknownArguments(args: Json): readonly string[] {
  const names = Object.keys(args).filter((name) => !knownArguments.includes(name));
  return names.map((name) => `unknown argument: ${name.slice(0, 128)}`);
}
