/** Messages waiting for one reader. */
export interface MessageQueue extends AsyncIterable<string> {
  /** False when the message will not be read: the reader has left, or is so slow that the stream was cut off. */
  push(text: string): boolean;
  /** Ends the stream after the messages pushed so far. */
  end(): void;
}

/** A reader that is this far behind is cut off, to limit memory; a single message may be larger. */
const maxWaiting = 10_000;
const maxWaitingBytes = 16 * 1024 * 1024;

/** @param onClose runs once, when the reader has left or the stream has ended. */
export function createQueue(onClose: () => void = () => {}): MessageQueue {
  const waiting: string[] = [];
  let waitingBytes = 0;
  let wake: (() => void) | undefined;
  let ended = false;
  let closed = false;
  const close = () => {
    if (closed) return;
    closed = true;
    waiting.length = 0;
    onClose();
  };
  const wakeReader = () => {
    wake?.();
    wake = undefined;
  };
  return {
    push(text) {
      if (ended || closed) return false;
      waiting.push(text);
      waitingBytes += Buffer.byteLength(text);
      if (waiting.length > maxWaiting || (waiting.length > 1 && waitingBytes > maxWaitingBytes)) ended = true;
      wakeReader();
      return true;
    },
    end() {
      ended = true;
      wakeReader();
    },
    [Symbol.asyncIterator]() {
      return {
        async next() {
          for (;;) {
            const text = waiting.shift();
            if (text !== undefined) {
              waitingBytes -= Buffer.byteLength(text);
              return { done: false, value: text };
            }
            if (ended || closed) {
              close();
              return { done: true, value: undefined };
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
        async return() {
          close();
          wakeReader();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
