import type { GateStage } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

/** A plugin with one stage of the gate, which bears its name. */
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
