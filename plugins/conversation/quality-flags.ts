import type { Observation, ObservationActor, ObservationType, QualityFlag } from 'mortise/sdk';
import { isObject } from './problems.js';

interface FlagFacts {
  readonly obsType: ObservationType;
  readonly ingress: Observation['ingress'];
  readonly sessionKey: string | undefined;
  readonly actor: ObservationActor | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly confidence: number | null;
  readonly given: readonly QualityFlag[];
}

/** Flags that only the producer can know. */
const producerFlags: readonly QualityFlag[] = ['TRUNCATED'];

/** What validation can tell of an observation's quality, sorted. */
export function qualityFlags(facts: FlagFacts): QualityFlag[] {
  const flags = new Set(facts.given.filter((flag) => producerFlags.includes(flag)));
  const attachments = Array.isArray(facts.payload.attachments) ? facts.payload.attachments : [];
  if (facts.obsType === 'message') {
    const { text, extra } = facts.payload;
    const blank = typeof text !== 'string' || text.trim() === '';
    const toolCall = isObject(extra) && extra.tool_call !== undefined;
    if (blank && attachments.length === 0 && !toolCall && facts.ingress !== 'api') flags.add('EMPTY_CONTENT');
    if (facts.sessionKey === undefined) flags.add('MISSING_SESSION');
    if (facts.actor?.actor_id === undefined) flags.add('MISSING_IDENTITY');
  }
  if (facts.confidence !== null && facts.confidence < 0.3) flags.add('LOW_CONFIDENCE');
  if (attachments.some((item) => isObject(item) && (item.kind ?? 'unknown') === 'unknown')) flags.add('UNSUPPORTED');
  return [...flags].sort();
}
