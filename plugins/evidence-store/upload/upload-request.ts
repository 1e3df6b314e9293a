import { isUnstorableText, MortiseError, type Principal } from 'mortise/sdk';

/** Arguments of `evidence_upload`. Empty texts of what is needed are absent. */
export interface UploadRequest {
  readonly content: string | null;
  readonly contentType: string | null;
  /** The caller says that the content is base64. */
  readonly isBase64: boolean;
  /** The caller names a coding of the content that is none of those read here. */
  readonly isCodedOtherwise: boolean;
  readonly title: string | null;
  readonly projectKey: string | null;
  readonly itemId: number | null;
  readonly claimedActor: string | null;
  /** The claimed actor, else the one that the caller's key is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

const TOOL = 'evidence_upload';
const PROJECT_KEY = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const LONGEST_ACTOR = 128;
const LONGEST_TITLE = 500;
const CONTROL = /[\p{Cc}\p{Surrogate}]/u;

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Names for content that is the text itself. */
const textCodings: readonly unknown[] = ['', 'text', 'utf-8', 'utf8', 'identity'];

/** Codings are named in any case. */
function codingOf(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : (value ?? '');
}

export function readUploadRequest(
  args: Readonly<Record<string, unknown>>,
  { principal, correlationId }: { readonly principal: Principal; readonly correlationId: string },
): UploadRequest {
  const claimedActor = textOf(args.actor_user_id);
  const coding = codingOf(args.content_encoding);
  return {
    content: textOf(args.content),
    contentType: textOf(args.content_type),
    isBase64: coding === 'base64',
    isCodedOtherwise: coding !== 'base64' && !textCodings.includes(coding),
    title: textOf(args.title),
    projectKey: typeof args.project_key === 'string' ? args.project_key : null,
    itemId: typeof args.item_id === 'number' ? args.item_id : null,
    claimedActor,
    actorUserId: claimedActor ?? principal.actor ?? null,
    principal,
    correlationId,
  };
}

function argumentError(path: string, expected: string): MortiseError {
  const message = `${path.slice(1)} ${expected}.`;
  const errors = [{ path, reason: 'INVALID_PARAM_VALUE', message }];
  return new MortiseError('INVALID_PARAM_VALUE', message, {
    status: 422,
    details: { category: 'validation', tool: TOOL, path, expected, errors },
  });
}

/** What a schema cannot say. @throws MortiseError `INVALID_PARAM_VALUE` (422). */
export function checkUploadRequest(request: UploadRequest): void {
  const { projectKey, claimedActor, title } = request;
  if (request.isCodedOtherwise) throw argumentError('/content_encoding', 'must be base64, or utf-8 for text as it is');
  if (projectKey !== null && !PROJECT_KEY.test(projectKey)) {
    throw argumentError(
      '/project_key',
      'must be 1 to 64 letters, digits, dots, dashes or underscores, without two dots in a row',
    );
  }
  if (claimedActor !== null && (claimedActor.trim() !== claimedActor || CONTROL.test(claimedActor))) {
    throw argumentError('/actor_user_id', 'must not have control characters or blanks around it');
  }
  if (claimedActor !== null && [...claimedActor].length > LONGEST_ACTOR) {
    throw argumentError('/actor_user_id', `must have at most ${LONGEST_ACTOR} characters`);
  }
  if (title !== null && ([...title].length > LONGEST_TITLE || isUnstorableText(title))) {
    throw argumentError('/title', `must have at most ${LONGEST_TITLE} characters, none of them NUL`);
  }
}
