/** Messages on their way to one reader. */
export interface MessageQueue extends AsyncIterable<string> {
  /** False when nobody will read it: the reader left, or is so slow that the queue was cut. */
  push(text: string): boolean;
  /** Ends the stream after what was pushed. */
  end(): void;
}

/** A reader that is this many messages behind is cut off, so that it cannot fill the memory. */
const longest = 10_000;

/** @param onLeave runs once when the reader has left or the stream is over. */
export function createQueue(onLeave: () => void = () => {}): MessageQueue {
  const waiting: string[] = [];
  let wake: (() => void) | undefined;
  let ended = false;
  let left = false;
  const leave = () => {
    if (left) return;
    left = true;
    waiting.length = 0;
    onLeave();
  };
  const stir = () => {
    wake?.();
    wake = undefined;
  };
  return {
    push(text) {
      if (ended || left) return false;
      waiting.push(text);
      if (waiting.length > longest) ended = true;
      stir();
      return true;
    },
    end() {
      ended = true;
      stir();
    },
    [Symbol.asyncIterator]() {
      return {
        async next() {
          for (;;) {
            const text = waiting.shift();
            if (text !== undefined) return { done: false, value: text };
            if (ended || left) {
              leave();
              return { done: true, value: undefined };
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
        async return() {
          leave();
          stir();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
