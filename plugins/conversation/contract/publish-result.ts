import type { Observation, ObservationError } from 'mortise/sdk';

/** Why an observation was not accepted. */
export type PublishRefusal = 'closed' | 'queue_full' | 'invalid' | 'adapter_cooldown';

export type PublishResult =
  | { readonly ok: true; readonly observation: Observation }
  | {
      readonly ok: false;
      readonly dropped: true;
      readonly reason: PublishRefusal;
      readonly errors?: readonly ObservationError[];
    };
