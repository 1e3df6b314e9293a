import type { GateStage } from 'mortise/sdk';
import { contributing, type TestPlugin } from 'mortise/sdk/testing';

/** A plugin that contributes one gate stage. */
export const stagePlugin = (
  key: string,
  apply: GateStage['apply'],
  place: Pick<GateStage, 'slot' | 'order'> = { slot: 'feature', order: 1 },
): TestPlugin => contributing('gate-stage', key, place, { apply });
