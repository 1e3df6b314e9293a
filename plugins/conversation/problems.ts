import type { ObservationError } from 'mortise/sdk';

/** Notes one error of an observation. */
export type Problems = (path: string, code: ObservationError['code'], message: string) => void;

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
