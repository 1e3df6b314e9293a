import { type MemoryInput, newMemory } from './memory-input.js';
import { randomStream } from './random-stream.js';

export type Endpoint = 'rest' | 'json-rpc' | 'legacy';

/** A request of a client, and the pause before it. */
interface Request {
  readonly memory: MemoryInput;
  readonly endpoint: Endpoint;
  /** The same request is sent twice concurrently. */
  readonly isDuplicated: boolean;
  readonly pauseMs: number;
}

const endpoints = ['rest', 'json-rpc', 'legacy'] as const;
const REPEAT_SHARE = 0.12;
const DOUBLE_SHARE = 0.05;
/** A client repeats one of its recent requests, as it would after a missing response. */
const REPEAT_AMONG = 20;

/** Plans the endless requests of one client. It repeats only its own. */
export function* planRequests(seed: number, client: number): Generator<Request> {
  const random = randomStream(seed, `client ${client}`);
  const recent: MemoryInput[] = [];
  for (let made = 0; ; made += 1) {
    const isRepeat = recent.length > 0 && random.chance(REPEAT_SHARE);
    const fresh = (): MemoryInput => newMemory(random, `memory-${seed}-${client}-${made}`, { client, made });
    const memory = isRepeat ? (recent[random.between(0, recent.length - 1)] ?? fresh()) : fresh();
    if (!isRepeat) recent.push(memory);
    if (recent.length > REPEAT_AMONG) recent.shift();
    yield {
      memory,
      endpoint: random.pick(endpoints),
      isDuplicated: random.chance(DOUBLE_SHARE),
      pauseMs: random.between(0, 10),
    };
  }
}
