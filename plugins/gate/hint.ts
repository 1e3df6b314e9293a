import type { GateBudget, GateConfig, GateScene } from 'mortise/contracts/gate';

type BudgetLevel = 'tiny' | 'normal' | 'deep';

/** Advice to the handler of an observation. It does not shorten or limit a turn. */
export interface Hint extends GateBudget {
  readonly budget: BudgetLevel;
  readonly can_search_kb: boolean;
  readonly can_call_tools: boolean;
  readonly auto_clarify: boolean;
}

/** Upper limits of the tiny budget in emergency mode. */
const emergencyLimits = { time_ms: 300, max_tokens: 128 };

/** Precomputes the hints of a configuration, so that none is allocated per observation. */
export function makeHints(config: GateConfig): (scene: GateScene, score: number, emergency: boolean) => Hint {
  const { thresholds, profiles } = config.budgets;
  const make = (scene: GateScene, level: BudgetLevel, emergency: boolean): Hint =>
    Object.freeze(makeHint(scene, level, profiles[level], emergency));
  const byScene = Object.fromEntries(
    (Object.keys(config.scenes) as GateScene[]).map((scene) => [
      scene,
      { tiny: make(scene, 'tiny', false), normal: make(scene, 'normal', false), deep: make(scene, 'deep', false) },
    ]),
  ) as Record<GateScene, Record<BudgetLevel, Hint>>;
  const urgent = make('unknown', 'tiny', true);
  const levelOf = (scene: GateScene, score: number): BudgetLevel => {
    if (scene === 'alert') return 'deep';
    if (scene === 'tool_call') return 'normal';
    if (scene === 'tool_result') return 'tiny';
    return score >= thresholds.high ? 'deep' : score >= thresholds.medium ? 'normal' : 'tiny';
  };
  return (scene, score, emergency) => (emergency ? urgent : byScene[scene][levelOf(scene, score)]);
}

function makeHint(scene: GateScene, budget: BudgetLevel, profile: GateBudget, emergency: boolean): Hint {
  const bare = emergency || scene === 'tool_result';
  const evidence_allowed = profile.evidence_allowed && !bare;
  const max_tool_calls = bare ? 0 : profile.max_tool_calls;
  return {
    budget,
    ...profile,
    ...(emergency
      ? {
          time_ms: Math.min(profile.time_ms, emergencyLimits.time_ms),
          max_tokens: Math.min(profile.max_tokens, emergencyLimits.max_tokens),
        }
      : {}),
    evidence_allowed,
    max_tool_calls,
    can_search_kb: evidence_allowed,
    can_call_tools: max_tool_calls > 0,
    auto_clarify: scene === 'dialogue' && budget === 'tiny' && !emergency,
  };
}
