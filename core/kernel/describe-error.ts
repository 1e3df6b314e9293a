import { MortiseError } from '../sdk/errors.js';

/** One line about an error for a person: its message without stack, at most 300 characters. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : safeJson(error);
  const line = text.replace(/\s+/g, ' ').trim() || 'an error without a message';
  return line.length > 300 ? `${line.slice(0, 299)}…` : line.replace(/\.$/, '');
}

export function errorCode(error: unknown): string {
  if (error instanceof MortiseError) return error.code;
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'unexpected_error';
}

function safeJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return 'an error that cannot be shown';
  }
}
