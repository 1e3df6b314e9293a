import type { FakeCall, FakeFault } from 'mortise/contracts/memory-backend-openmemory/testing';
import { randomStream } from './random-stream.js';

/** A fault of the backend that applies to every request of a call, for a time. */
export interface FaultPeriod {
  readonly name: string;
  readonly call: FakeCall | 'any';
  /** `null`: no fault. `down`: refuses connections. */
  readonly fault: FakeFault | 'down' | null;
  readonly ms: number;
}

type Fault = Omit<FaultPeriod, 'ms'>;

const calm: Fault = { name: 'calm', call: 'any', fault: null };

/**
 * `applied`: the backend stores the memory but does not confirm it. `late`: it stores it after the request timed out.
 * That ends within twice the product's time limit, as the product's promise does: a backend that applies a request long
 * after that cannot be distinguished from one that lost it.
 */
const faultKinds: readonly [Fault, ...Fault[]] = [
  { name: '500', call: 'add', fault: { kind: 'status', status: 500 } },
  { name: '500 applied', call: 'add', fault: { kind: 'status', status: 500, apply: true } },
  { name: '500 everywhere', call: 'any', fault: { kind: 'status', status: 500 } },
  { name: '503', call: 'any', fault: { kind: 'status', status: 503 } },
  { name: 'timeout', call: 'add', fault: { kind: 'hang' } },
  { name: 'timeout applied', call: 'add', fault: { kind: 'hang', apply: true } },
  { name: 'reset applied', call: 'add', fault: { kind: 'reset', apply: true } },
  { name: 'reset', call: 'any', fault: { kind: 'reset' } },
  { name: 'truncated', call: 'any', fault: { kind: 'truncate' } },
  { name: 'no JSON', call: 'add', fault: { kind: 'malformed' } },
  { name: 'no id', call: 'add', fault: { kind: 'missing-id' } },
  { name: 'duplicate', call: 'add', fault: { kind: 'merge' } },
  { name: 'slow', call: 'add', fault: { kind: 'slow', ms: 150 } },
  { name: 'late', call: 'add', fault: { kind: 'slow', ms: 650 } },
  { name: 'refused', call: 'add', fault: { kind: 'status', status: 422 } },
  { name: 'down', call: 'any', fault: 'down' },
];

/** Plans endless periods of the backend, alternating between faults and none. */
export function* planFaults(seed: number): Generator<FaultPeriod> {
  const random = randomStream(seed, 'spells');
  for (;;) {
    yield { ...calm, ms: random.between(150, 900) };
    yield { ...random.pick(faultKinds), ms: random.between(30, 350) };
  }
}
