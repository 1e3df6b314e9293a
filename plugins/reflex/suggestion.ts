import type { GateConfig, GateOverrideKey } from 'mortise/contracts/gate';
import { isJsonObject } from 'mortise/sdk';

interface RejectedOverride {
  readonly key: string;
  readonly reason: 'agent_suggestion_disabled' | 'no_allowed_overrides' | 'invalid_value' | 'cooldown';
}

interface JudgedSuggestion {
  readonly allowed: readonly { readonly key: GateOverrideKey; readonly value: boolean }[];
  readonly rejected: readonly RejectedOverride[];
  /** The reason of the whole suggestion when nothing is allowed. */
  readonly reason: RejectedOverride['reason'];
}

/**
 * Judges each suggested override on its own: suggestions enabled, key on the whitelist, value a boolean, key not cooling
 * down.
 *
 * @param coolingDown whether an earlier suggestion for the key was accepted within the cooldown
 */
export function judgeSuggestion(
  suggested: unknown,
  config: GateConfig['system_reflex'],
  coolingDown: (key: GateOverrideKey) => boolean,
): JudgedSuggestion {
  const entries = isJsonObject(suggested) ? Object.entries(suggested).slice(0, 100) : [];
  const allowed: { key: GateOverrideKey; value: boolean }[] = [];
  const rejected: RejectedOverride[] = [];
  for (const [name, value] of entries) {
    const key = config.whitelist.find((one) => one === name);
    const shown = name.slice(0, 128);
    if (!config.allow_agent_suggestions) rejected.push({ key: shown, reason: 'agent_suggestion_disabled' });
    else if (key === undefined) rejected.push({ key: shown, reason: 'no_allowed_overrides' });
    else if (typeof value !== 'boolean') rejected.push({ key: shown, reason: 'invalid_value' });
    else if (coolingDown(key)) rejected.push({ key: shown, reason: 'cooldown' });
    else allowed.push({ key, value });
  }
  const first = rejected.find(({ reason }) => reason !== 'no_allowed_overrides') ?? rejected[0];
  const empty = config.allow_agent_suggestions ? 'no_allowed_overrides' : 'agent_suggestion_disabled';
  return { allowed, rejected, reason: first?.reason ?? empty };
}

/** The TTL of a suggestion, seconds: numbers and integer-looking strings, clamped to the limits; else the default. */
export function readTtl(value: unknown, { default_ttl_sec, max_ttl_sec }: GateConfig['system_reflex']): number {
  const given =
    typeof value === 'number' && Number.isFinite(value)
      ? Math.trunc(value)
      : typeof value === 'string' && /^\s*[+-]?\d{1,15}\s*$/.test(value)
        ? Number(value)
        : default_ttl_sec;
  return Math.min(Math.max(given, 1), max_ttl_sec);
}
