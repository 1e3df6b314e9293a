import type { GateConfig, GateOverrideKey } from 'mortise/contracts/gate';

export interface RejectedOverride {
  readonly key: string;
  readonly reason: 'agent_suggestion_disabled' | 'no_allowed_overrides' | 'invalid_value' | 'cooldown' | 'not_admin';
}

export interface Judgement {
  readonly allowed: readonly { readonly key: GateOverrideKey; readonly value: boolean }[];
  readonly rejected: readonly RejectedOverride[];
  /** Of the whole when nothing is allowed. */
  readonly reason: RejectedOverride['reason'];
}

/**
 * What of a suggestion is taken over. Keys are judged one by one: allowed at all, on the list, of the right type, and not
 * too soon after the last one.
 *
 * @param coolingDown whether a key was changed a moment ago
 */
export function judgeSuggestion(
  suggested: unknown,
  config: GateConfig['system_reflex'],
  coolingDown: (key: GateOverrideKey) => boolean,
): Judgement {
  const entries = isObject(suggested) ? Object.entries(suggested).slice(0, 100) : [];
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
  const told = rejected.find(({ reason }) => reason !== 'no_allowed_overrides') ?? rejected[0];
  const empty = config.allow_agent_suggestions ? 'no_allowed_overrides' : 'agent_suggestion_disabled';
  return { allowed, rejected, reason: told?.reason ?? empty };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
