/** The target of a request line. */
export interface RequestTarget {
  /** Raw path, beginning with a slash; `*` for a request about the server as a whole. */
  readonly path: string;
  /** Raw query without question mark. */
  readonly query: string;
  /** Authority of a target in absolute form; it is checked like the Host header. */
  readonly authority: string | undefined;
}

const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** Splits a request target, without decoding or resolving anything. */
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

/** Whether routes can match the path: it begins with a slash, and each percent-escape is valid. */
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
