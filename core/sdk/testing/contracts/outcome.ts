import { isDeepStrictEqual } from 'node:util';
import { isCodedError } from '../../errors.js';

/** The outcome of a call. */
export type Outcome<R> = { readonly ok: true; readonly value: R } | { readonly ok: false; readonly error: unknown };

export async function outcomeOf<R>(run: () => Promise<R>): Promise<Outcome<R>> {
  try {
    return { ok: true, value: await run() };
  } catch (error) {
    return { ok: false, error };
  }
}

/** Finds problems of an error that a plugin throws. Its code must begin with `prefix`. */
export function errorIssues(error: unknown, prefix = ''): readonly string[] {
  const shown = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (!isCodedError(error)) return [`it threw an error without a code (${shown.slice(0, 200)})`];
  const { code, message } = error;
  if (code === 'call_timeout') return ['it did not return in time'];
  if (code === 'contribution_unknown') return [`it is not active (${message})`];
  const issues: string[] = [];
  if (!/^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/.test(code)) issues.push(`the code "${code}" is not a stable name`);
  else if (!code.startsWith(prefix)) issues.push(`the code "${code}" does not begin with "${prefix}"`);
  if (message.trim() === '') issues.push(`the error ${code} has no message`);
  if (/\n\s+at /.test(message)) issues.push(`the message of ${code} contains a stack`);
  return issues;
}

/** Whether two results have equal JSON. Typed arrays are compared as lists, `changing` members are ignored. */
export function sameJson(one: unknown, other: unknown, changing: readonly string[] = []): boolean {
  return isDeepStrictEqual(plain(one, changing), plain(other, changing));
}

function plain(value: unknown, changing: readonly string[]): unknown {
  const text = JSON.stringify(value ?? null, (name, member) =>
    changing.includes(name) ? undefined : ArrayBuffer.isView(member) ? [...(member as Float32Array)] : member,
  );
  return JSON.parse(text);
}

/** Finds what JSON cannot represent in a value: functions, dates, maps, instances, cycles, non-finite numbers. */
export function jsonIssues(value: unknown, what = 'the result'): readonly string[] {
  const issues: string[] = [];
  visit(value, '', new Set(), issues);
  return issues.slice(0, 5).map((issue) => `${what}${issue}`);
}

/** Like {@link jsonIssues}, for a value that must be a JSON object. */
export function jsonObjectIssues(value: unknown, what = 'the result'): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${what} is not a JSON object`];
  return jsonIssues(value, what);
}

function visit(value: unknown, path: string, above: ReadonlySet<object>, issues: string[]): void {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return;
  const at = path === '' ? '' : ` at ${path}`;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) issues.push(`${at} is ${value}, which JSON cannot represent`);
  } else if (typeof value !== 'object') issues.push(`${at} is of type ${typeof value}`);
  else if (above.has(value)) issues.push(`${at} contains itself`);
  else {
    const inside = new Set(above).add(value);
    if (Array.isArray(value))
      for (const [index, member] of value.entries()) visit(member, `${path}/${index}`, inside, issues);
    else if (isPlain(value)) {
      // JSON omits undefined members.
      for (const [name, member] of Object.entries(value))
        if (member !== undefined) visit(member, `${path}/${name}`, inside, issues);
    } else issues.push(`${at} is an instance of ${value.constructor?.name ?? 'a class'}`);
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
