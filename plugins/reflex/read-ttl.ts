import type { GateConfig } from 'mortise/contracts/gate';

/** How long a suggestion lasts, seconds: numbers and texts that look like whole ones, within the limits; else the default. */
export function readTtl(value: unknown, { default_ttl_sec, max_ttl_sec }: GateConfig['system_reflex']): number {
  const given =
    typeof value === 'number' && Number.isFinite(value)
      ? Math.trunc(value)
      : typeof value === 'string' && /^\s*[+-]?\d{1,15}\s*$/.test(value)
        ? Number(value)
        : default_ttl_sec;
  return Math.min(Math.max(given, 1), max_ttl_sec);
}
