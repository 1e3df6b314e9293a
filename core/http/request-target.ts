import { RefusedRequest } from './refusal-rows.js';

/** What a request line asks for. */
export interface RequestTarget {
  /** Raw path, beginning with a slash; `*` for a request about the server as a whole. */
  readonly path: string;
  /** Raw query without question mark. */
  readonly query: string;
  /** Authority of a target in absolute form; it counts instead of the Host header. */
  readonly authority: string | undefined;
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** Cuts a request target into its parts, without decoding or resolving anything. */
export function readRequestTarget(url: string): RequestTarget {
  const absolute = url.startsWith('/') ? null : absoluteForm.exec(url);
  const origin = absolute ? url.slice(absolute[0].length) : url;
  const mark = origin.indexOf('?');
  const path = mark < 0 ? origin : origin.slice(0, mark);
  return {
    path: path === '' ? '/' : path,
    query: mark < 0 ? '' : origin.slice(mark + 1),
    authority: absolute?.[1],
  };
}

/** Whether a path has a form that routes can match, with every percent-escape a valid one. */
export function isWellFormed(path: string): boolean {
  if (!path.startsWith('/')) return false;
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** Parameters by name, percent-decoded once. The path must be well formed. */
export function decodeParams(names: readonly string[], captures: readonly string[]): Readonly<Record<string, string>> {
  const params: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const raw = captures[index];
    if (raw === undefined) throw new RefusedRequest('bad_target');
    params[name] = raw.includes('%') ? decodeURIComponent(raw) : raw;
  }
  return params;
}
