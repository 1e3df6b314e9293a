import { MortiseError } from '../sdk/index.js';
import { maskSecret } from '../sdk/mask.js';
import type { ConfigIssue, ConfigProblem } from './types.js';

const longest = 60;

/** A value for a message: shortened, and masked when it is a secret or holds one. */
export function shownValue(value: unknown, secret: boolean): string | undefined {
  if (value === undefined) return undefined;
  if (secret) return typeof value === 'string' ? JSON.stringify(maskSecret(value)) : '***';
  const text = JSON.stringify(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function isVariable(origin: string): boolean {
  return /^[A-Z][A-Z0-9_]*$/.test(origin);
}

/** One sentence: the variable, or the file and the place in it; the value; what is allowed. */
export function issueSentence(issue: ConfigIssue): string {
  const whole = isVariable(issue.origin) ? issue.origin : `${issue.origin}: the file`;
  const place = issue.place === '' ? whole : `${issue.origin}: ${issue.place}`;
  if (!issue.message.startsWith('must ') || issue.shown === undefined) return `${place} ${issue.message}.`;
  return `${place} is ${issue.shown}: it ${issue.message}.`;
}

/** The first issue, and how many more there are. */
function problemSentence(issues: readonly ConfigIssue[]): string {
  const [first] = issues;
  if (first === undefined) return 'The configuration is not valid.';
  const more = issues.length - 1;
  return more === 0 ? issueSentence(first) : `${issueSentence(first)} ${more} more ${more === 1 ? 'fault' : 'faults'}.`;
}

export function problemOf(issues: readonly ConfigIssue[], sha256: string | null, at: number): ConfigProblem {
  return { code: 'invalid_config', message: problemSentence(issues), issues, sha256, at };
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
  EROFS: 'its disk is read-only',
  EACCES: 'this process may not write there',
  EPERM: 'this process may not write there',
  EIO: 'its disk failed',
};

/**
 * Runs a function that writes one of the operator's files.
 *
 * @param shown the file's public name
 * @throws MortiseError `disk_full` (503, to be tried again) or `file_not_written` (503) for an error of the file system
 */
export async function sayUnwritten<T>(shown: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = reasons[code];
    if (reason === undefined) throw error;
    const full = code === 'ENOSPC' || code === 'EDQUOT';
    throw new MortiseError(full ? 'disk_full' : 'file_not_written', `${shown} could not be written: ${reason}.`, {
      status: 503,
      retryable: full,
      cause: error,
      hint: full
        ? 'Nothing was changed. Free space on that disk and repeat the change.'
        : 'Nothing was changed. Make the file and its folder writable and repeat the change.',
    });
  }
}
