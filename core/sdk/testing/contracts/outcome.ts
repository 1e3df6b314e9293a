import { isDeepStrictEqual } from 'node:util';
import { isCodedError } from '../../errors.js';

/** How a call ended. */
export type Outcome<R> = { readonly ok: true; readonly value: R } | { readonly ok: false; readonly error: unknown };

export async function outcomeOf<R>(run: () => Promise<R>): Promise<Outcome<R>> {
  try {
    return { ok: true, value: await run() };
  } catch (error) {
    return { ok: false, error };
  }
}

/** What is wrong with an error that leaves a plugin; `prefix` is what its code has to begin with. */
export function errorIssues(error: unknown, prefix = ''): readonly string[] {
  const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (!isCodedError(error)) return [`it threw an error without a code (${shown.slice(0, 200)})`];
  const { code, message } = error;
  if (code === 'call_timeout') return ['it did not answer in time'];
  if (code === 'contribution_unknown') return [`it is not active (${message})`];
  const issues: string[] = [];
  if (!/^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/.test(code)) issues.push(`the code "${code}" is no stable name`);
  else if (!code.startsWith(prefix)) issues.push(`the code "${code}" does not begin with "${prefix}"`);
  if (message.trim() === '') issues.push(`the error ${code} says nothing`);
  if (/\n\s+at /.test(message)) issues.push(`the message of ${code} holds a stack`);
  return issues;
}

/** Whether two results say the same, as far as JSON can tell; typed arrays count as lists, `changing` members not at all. */
export function sameJson(one: unknown, other: unknown, changing: readonly string[] = []): boolean {
  return isDeepStrictEqual(plain(one, changing), plain(other, changing));
}

function plain(value: unknown, changing: readonly string[]): unknown {
  const text = JSON.stringify(value ?? null, (name, member) =>
    changing.includes(name) ? undefined : ArrayBuffer.isView(member) ? [...(member as Float32Array)] : member,
  );
  return JSON.parse(text);
}
