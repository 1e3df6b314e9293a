import type { GateStage } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

/** A plugin that contributes one gate stage of the same key. */
export function stagePlugin(
  key: string,
  apply: GateStage['apply'],
  place: Pick<GateStage, 'slot' | 'order'> = { slot: 'feature', order: 1 },
): TestPlugin {
  return {
    manifest: { key, contributes: { 'gate-stage': [{ key, facts: { ...place } }] } },
    definition: { key, register: (host) => void host.contribute('gate-stage', key, { ...place, apply }) },
  };
}
