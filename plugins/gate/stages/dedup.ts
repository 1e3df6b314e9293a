import type { Observation } from 'mortise/sdk';
import { isAgentGenerated, isReleased } from '../agent-generated.js';
import { dedupKey } from '../dedup-key.js';
import type { DedupMemory } from '../dedup-memory.js';
import type { Draft } from '../draft.js';

/** Whoever asks on purpose may ask twice; repeats of these are controlled by keys. */
const exempt: readonly Observation['ingress'][] = ['api', 'ws', 'cron', 'internal'];

/**
 * The same content from the same actor in the same session within a window that starts with the first one and is not
 * prolonged by repeats. What is remembered is written when the outcome is known.
 */
export function dedup(draft: Draft, memory: DedupMemory): void {
  const { observation, compiled, scene } = draft;
  const { obs_type: type, ingress } = observation;
  if (type !== 'message' && type !== 'world_data') return;
  const window = compiled.windowMs[scene];
  if (window <= 0 || exempt.includes(ingress) || isAgentGenerated(observation) || isReleased(observation)) return;
  const key = dedupKey(draft);
  draft.fingerprint = key;
  const first = memory.firstSeen(key);
  if (first === undefined || draft.now - first >= window) return;
  draft.duplicate = true;
  draft.tag('dedup', 'hit');
  draft.flag('DUPLICATE');
  draft.propose('drop', 'dedup_hit');
}

/**
 * Writes what was seen, once the outcome is known. A message that was refused for another reason than its content may be
 * sent again at once: by then the reason may be gone.
 */
export function rememberContent(draft: Draft, memory: DedupMemory): void {
  const key = draft.fingerprint;
  if (key === null) return;
  if (draft.duplicate) {
    memory.touch(key);
    return;
  }
  if (draft.action === 'drop' || draft.emergency) return;
  const { config, longestWindowMs } = draft.compiled;
  memory.remember(key, draft.now, config.dedup.max_entries, draft.now - longestWindowMs);
}
