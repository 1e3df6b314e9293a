import { randomStream } from './random-stream.js';
import { newWish, type Wish } from './wish.js';

export type Door = 'rest' | 'json-rpc' | 'legacy';

/** One request of a client, and how long it pauses before it. */
export interface Request {
  readonly wish: Wish;
  readonly door: Door;
  /** The same request a second time, at the same moment. */
  readonly isDoubled: boolean;
  readonly pauseMs: number;
}

const doors = ['rest', 'json-rpc', 'legacy'] as const;
const REPEAT_SHARE = 0.12;
const DOUBLE_SHARE = 0.05;
/** A client repeats what it sent lately, as one does that had no answer. */
const REPEAT_AMONG = 20;

/** The requests of one client, without end. A repeat is of one of its own. */
export function* planRequests(seed: number, client: number): Generator<Request> {
  const random = randomStream(seed, `client ${client}`);
  const recent: Wish[] = [];
  for (let made = 0; ; made += 1) {
    const isRepeat = recent.length > 0 && random.chance(REPEAT_SHARE);
    const fresh = (): Wish => newWish(random, `memory-${seed}-${client}-${made}`, { client, made });
    const wish = isRepeat ? (recent[random.between(0, recent.length - 1)] ?? fresh()) : fresh();
    if (!isRepeat) recent.push(wish);
    if (recent.length > REPEAT_AMONG) recent.shift();
    yield { wish, door: random.pick(doors), isDoubled: random.chance(DOUBLE_SHARE), pauseMs: random.between(0, 10) };
  }
}
