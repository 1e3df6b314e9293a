import type { IncomingHttpHeaders } from 'node:http';
import type { ContentTypeRule } from './mounts.js';

/** Whether a mount takes a body of the sent type. */
export function acceptsContentType(rule: ContentTypeRule, headers: IncomingHttpHeaders): boolean {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false;
  const header = headers['content-type'];
  if (rule === 'json') return mediaType(header) === 'application/json';
  if (rule === 'multipart') return mediaType(header) === 'multipart/form-data';
  if (isJson(mediaType(header))) return true;
  return rule === 'lenient-json' && (header === undefined || headers.origin === undefined);
}

/** The type without parameters, in lower case. */
function mediaType(header: string | undefined): string {
  if (header === undefined || header === 'application/json') return header ?? '';
  const end = header.indexOf(';');
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

function isJson(type: string): boolean {
  return type === 'application/json' || /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.-]+\+json$/.test(type);
}
