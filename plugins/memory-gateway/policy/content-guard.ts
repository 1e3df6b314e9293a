import type { ContentGuardPolicy } from 'mortise/contracts/memory-gateway';
import { redactSecrets } from 'mortise/sdk';

export type GuardVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'reject'; readonly type: 'diff' | 'log' | 'secret'; readonly explanation: string }
  | { readonly kind: 'warn'; readonly secrets: number }
  | { readonly kind: 'redact'; readonly secrets: number; readonly content: string };

const HUNK = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/gm;
const FEWEST_HUNKS = 3;

const TIME_STAMP =
  /^\[?\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{2}:\d{2}|^\[?\d{2}:\d{2}:\d{2}|^[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}/;
const LEVEL = /^\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b/;
const FEWEST_LINES = 20;
const LOG_SHARE = 0.8;

const MARK = '[REDACTED]';

/** At least three hunks, or a git header with any. */
export function isDiff(content: string): boolean {
  const hunks = content.match(HUNK)?.length ?? 0;
  return hunks >= FEWEST_HUNKS || (hunks > 0 && /^diff --git /m.test(content));
}

/** At least twenty lines, four fifths of which begin with a time or a level. */
export function isLog(content: string): boolean {
  const lines = content.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < FEWEST_LINES) return false;
  return lines.filter((line) => TIME_STAMP.test(line) || LEVEL.test(line)).length >= lines.length * LOG_SHARE;
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Looks for what does not belong in a memory. Apart from a redacted content, the verdict never holds a secret's value. */
export function guardContent(content: string, policy: ContentGuardPolicy, place = 'the content'): GuardVerdict {
  if (policy.diff === 'reject' && isDiff(content)) {
    return { kind: 'reject', type: 'diff', explanation: `${place} is a patch` };
  }
  if (policy.log === 'reject' && isLog(content)) {
    return { kind: 'reject', type: 'log', explanation: `${place} is a log` };
  }
  if (policy.secret === 'off') return { kind: 'pass' };
  const redacted = redactSecrets(content);
  if (redacted === content) return { kind: 'pass' };
  const secrets = Math.max(1, count(redacted, MARK) - count(content, MARK));
  if (policy.secret === 'warn') return { kind: 'warn', secrets };
  if (policy.secret === 'redact') return { kind: 'redact', secrets, content: redacted };
  return { kind: 'reject', type: 'secret', explanation: `${place} holds what looks like a secret` };
}
