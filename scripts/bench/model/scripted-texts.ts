import { setTimeout as sleep } from 'node:timers/promises';
import { createGate, openAi, type UpstreamAnswer } from 'mortise/contracts/provider-openai/testing';

/** The text of one stream, and when each of its tokens was sent. */
export interface ScriptedText {
  readonly text: string;
  /** Where each token ends in the text. */
  readonly ends: readonly number[];
  /** Milliseconds of the monotonic clock; filled while the API sends. */
  readonly sentAt: number[];
}

/** An API that waits until all requests have arrived. */
interface ScriptedStreams {
  readonly answer: UpstreamAnswer;
  /** Number of requests that have arrived. */
  readonly arrived: number;
  /** Stops waiting for further requests. */
  begin(): void;
}

/** Tokens of every UTF-8 width. */
const alphabet = ['a', 'the', ' harbour', 'é', 'ß', '你', '好，', 'か', '👋', '👩‍👩‍👧‍👦', '\n', '"', '\\', ' '];

/** The same numbers for the same seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function scriptText(seed: number, tokens: number): ScriptedText {
  const random = randomFrom(seed);
  const ends: number[] = [];
  let text = '';
  for (let token = 0; token < tokens; token += 1) {
    text += `${alphabet[Math.floor(random() * alphabet.length)]}${token % 10}`;
    ends.push(text.length);
  }
  return { text, ends, sentAt: [] };
}

/**
 * The API for many concurrent streams: it sends nothing before all of them are open (or `begin` is called), then each token
 * as a frame, cut at a random byte, with a random pause before the next one. `nameOf` reads the number of a request's text.
 */
export function streamTexts(
  texts: readonly ScriptedText[],
  nameOf: (body: unknown) => number,
  { open, paceMs }: { readonly open: number; readonly paceMs: number },
): ScriptedStreams {
  const all = createGate();
  let arrived = 0;
  const answer = openAi.streamsFrom(async function* ({ body }) {
    const number = nameOf(body);
    const script = texts[number];
    if (!script) throw new Error(`there is no text ${number}`);
    const random = randomFrom(number + 1);
    arrived += 1;
    if (arrived === open) all.open();
    yield '';
    await all.opened;
    let from = 0;
    for (const end of script.ends) {
      const bytes = Buffer.from(openAi.chunk({ content: script.text.slice(from, end) }));
      from = end;
      const cut = 1 + Math.floor(random() * (bytes.length - 1));
      if (random() < 0.2) {
        yield bytes.subarray(0, cut);
        script.sentAt.push(performance.now());
        yield bytes.subarray(cut);
      } else {
        script.sentAt.push(performance.now());
        yield bytes;
      }
      await sleep(random() * 2 * paceMs);
    }
    yield openAi.chunk({}, 'stop');
    yield openAi.endMark;
  });
  return {
    answer,
    get arrived() {
      return arrived;
    },
    begin: () => all.open(),
  };
}
