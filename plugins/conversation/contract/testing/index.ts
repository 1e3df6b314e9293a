import type { Observation, ObservationType } from 'mortise/sdk';
import { contributing, type TestPlugin } from 'mortise/sdk/testing';
import type { ObservationHandler } from '../extension-points.js';

/** A plugin that records delivered observations of some types. */
export function listener(
  seen: Observation[],
  types: readonly ObservationType[] = ['message', 'alert', 'control', 'schedule', 'system'],
  handle: ObservationHandler['handle'] = async () => undefined,
): TestPlugin {
  return contributing(
    'observation-handler',
    'listener',
    { types },
    {
      handle(observation, ctx) {
        seen.push(observation);
        return handle(observation, ctx);
      },
    },
  );
}
