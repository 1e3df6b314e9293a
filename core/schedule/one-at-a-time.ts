/** A run that never overlaps itself. */
export interface OneAtATime {
  /** Runs now, or once more right after the present run however often it was asked meanwhile. */
  request(): void;
  /** Nothing begins from now on. */
  stop(): void;
}

export function oneAtATime(run: () => unknown, onError: (error: unknown) => void): OneAtATime {
  let running = false;
  let asked = false;
  let stopped = false;

  const drain = async (): Promise<void> => {
    running = true;
    while (asked && !stopped) {
      asked = false;
      try {
        await run();
      } catch (error) {
        onError(error);
      }
    }
    running = false;
  };

  return {
    request() {
      asked = true;
      if (!running) void drain();
    },
    stop() {
      stopped = true;
    },
  };
}
