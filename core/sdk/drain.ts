/** Runs one function for many requests, never twice at the same time. */
export interface Drain {
  /** Runs soon, after the caller's synchronous code; a request during a run starts one more run after it. */
  request(): void;
  /** Resolves when nothing is running or requested. */
  idle(): Promise<void>;
}

/**
 * The loop behind a queue: whoever adds an item calls `request`, and `run` processes what is queued.
 *
 * `running ??= run().finally(() => { running = undefined; })` loses the item that is queued after the last look at the
 * queue and before `finally`. Here the flag is cleared in the same tick as the last check for requests.
 *
 * @param onError receives what `run` throws; without it, the error is an unhandled rejection. Either way later requests
 * are served.
 *
 * @example
 * const sending = createDrain(async () => { for (let next = queue.shift(); next; next = queue.shift()) await send(next); });
 * queue.push(item);
 * sending.request();
 */
export function createDrain(run: () => unknown, onError: (error: unknown) => void = rejectUnhandled): Drain {
  let isRequested = false;
  let running: Promise<void> | undefined;

  const serve = async (): Promise<void> => {
    await null;
    while (isRequested) {
      isRequested = false;
      try {
        await run();
      } catch (error) {
        onError(error);
      }
    }
    running = undefined;
  };

  return {
    request() {
      isRequested = true;
      running ??= serve();
    },
    async idle() {
      while (running !== undefined) await running;
    },
  };
}

function rejectUnhandled(error: unknown): void {
  void Promise.reject(error);
}
