import type { Observation, ObservationActor, ObservationType, QualityFlag } from 'mortise/sdk';
import { isObject } from './problems.js';

interface FlagFacts {
  readonly type: ObservationType;
  readonly ingress: Observation['ingress'];
  /** As given. */
  readonly key: string | undefined;
  readonly actor: ObservationActor | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly confidence: number | null;
  /** What the producer says. */
  readonly given: unknown;
}

/** Flags that only the producer can know. */
const producerFlags: readonly QualityFlag[] = ['TRUNCATED'];

/** Most observations have nothing doubtful about them. */
const none: readonly QualityFlag[] = Object.freeze([]);

/** What validation can tell of an observation's quality: sorted, frozen. */
export function qualityFlags({ type, ingress, key, actor, payload, confidence, given }: FlagFacts) {
  const flags = Array.isArray(given) ? producerFlags.filter((flag) => given.includes(flag)) : [];
  const attachments = Array.isArray(payload.attachments) ? payload.attachments : none;
  if (type === 'message') {
    if (ingress !== 'api' && attachments.length === 0 && isBlank(payload)) flags.push('EMPTY_CONTENT');
    if (key === undefined) flags.push('MISSING_SESSION');
    if (actor?.actor_id === undefined) flags.push('MISSING_IDENTITY');
  }
  if (confidence !== null && confidence < 0.3) flags.push('LOW_CONFIDENCE');
  if (attachments.some((item) => isObject(item) && (item.kind ?? 'unknown') === 'unknown')) flags.push('UNSUPPORTED');
  return flags.length === 0 ? none : Object.freeze(flags.sort());
}

/** Neither text nor a call of a tool. */
function isBlank({ text, extra }: FlagFacts['payload']): boolean {
  const blank = typeof text !== 'string' || text.trim() === '';
  return blank && !(isObject(extra) && extra.tool_call !== undefined);
}
