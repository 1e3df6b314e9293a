import { type GuardedFetch, isCodedError, type ModelContentPart, type ModelMessage, readResponse } from 'mortise/sdk';
import { statelessError } from './errors.js';

/** Maximum bytes of a file that is fetched for a request. */
const maxFileBytes = 20 * 1024 * 1024;
const fetchWithinMs = 30_000;

/** `data:<type>;base64,<data>` as an attachment; undefined for another text. */
export function readDataUrl(url: string): { readonly mediaType: string; readonly data: string } | undefined {
  const [, mediaType, data] = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,([A-Za-z0-9+/=_\s-]*)$/.exec(url) ?? [];
  return mediaType === undefined || data === undefined ? undefined : { mediaType, data };
}

/**
 * Fetches attachments that are given as URLs, guarded against private addresses, because a provider may be unable to fetch
 * them.
 *
 * @throws invalid_request for an address that is not https, cannot be fetched, or has too large a file
 */
export async function fetchAttachments(
  messages: readonly ModelMessage[],
  fetch: GuardedFetch,
  signal: AbortSignal,
): Promise<readonly ModelMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (typeof message.content === 'string' || !message.content.some(({ url }) => url !== undefined)) return message;
      const content = await Promise.all(message.content.map((part) => fetched(part, fetch, signal)));
      return { ...message, content };
    }),
  );
}

async function fetched(part: ModelContentPart, fetch: GuardedFetch, signal: AbortSignal): Promise<ModelContentPart> {
  const { url, ...rest } = part;
  if (url === undefined) return part;
  if (!/^https:\/\//i.test(url) || !URL.canParse(url)) throw refused('it is not an https URL');
  let response: Response;
  try {
    const limit = AbortSignal.timeout(fetchWithinMs);
    response = await fetch(url, { untrusted: true, signal: AbortSignal.any([limit, signal]) });
  } catch (error) {
    signal.throwIfAborted();
    throw refused(isCodedError(error) && error.code === 'network_denied' ? 'its address is not allowed' : 'it failed');
  }
  if (!response.ok) throw refused(`the server answered ${response.status}`);
  const { bytes, isCut } = await readResponse(response, maxFileBytes);
  if (isCut) throw refused(`it has more than ${maxFileBytes} bytes`);
  const [mediaType = 'application/octet-stream'] = (response.headers.get('content-type') ?? '').split(';');
  return { ...rest, mediaType: part.mediaType ?? mediaType.trim(), data: bytes.toString('base64') };
}

function refused(why: string): Error {
  return statelessError('invalid_request', { message: `the attachment cannot be fetched: ${why}` });
}
