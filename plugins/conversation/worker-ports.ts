import type { PublishResult } from 'mortise/contracts/conversation';
import type { GateService } from 'mortise/contracts/gate';
import type { Observation, ObservationInput } from 'mortise/sdk';
import type { LiveSession } from './live-session.js';
import type { TurnSlots } from './turn-slots.js';
import type { WaitGraph } from './wait-graph.js';

/** The steps of a worker, as faults are counted. */
export type WorkerStep = 'record' | 'egress' | 'gate' | 'decided' | 'emit' | 'ingest' | 'handler' | 'worker';

/** What a worker needs of the conversation. */
export interface WorkerPorts {
  readonly gate: () => GateService | undefined;
  readonly slots: TurnSlots;
  readonly waits: WaitGraph;
  readonly publish: (observation: ObservationInput) => PublishResult;
  /** Hands an observation to the ways out, if it goes out at all. Neither waits nor throws. */
  readonly egress: (observation: Observation) => void;
  readonly now: () => number;
  readonly monotonic: () => number;
  /** One step failed: counted, noted and alerted by the caller. */
  readonly fault: (session: LiveSession, observation: Observation, step: WorkerStep, error: unknown) => void;
  readonly count: (what: 'handled' | 'refused' | 'error' | 'loop_guard') => void;
  /** What is known of a session has changed. */
  readonly changed: ((session: LiveSession) => void) | undefined;
  /** Counts the flags of an observation that has any. */
  readonly flagged: (observation: Observation) => void;
}
