import type { ObservationError } from 'mortise/sdk';

/** Notes one error of an observation. */
export type Problems = (path: string, code: ObservationError['code'], message: string) => void;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value when it is one of a list; otherwise a problem, and the first of them. */
export function oneOf<T extends string>(value: unknown, allowed: readonly T[], path: string, problems: Problems): T {
  if ((allowed as readonly unknown[]).includes(value)) return value as T;
  problems(path, 'enum', `${path} must be one of: ${allowed.join(', ')}`);
  return allowed[0] as T;
}
