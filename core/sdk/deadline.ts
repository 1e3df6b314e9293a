/** How long a call may go on, and who may end it. */
export interface Deadline {
  /** Aborted by the time limit or the caller, unless the call was committed before. */
  readonly signal: AbortSignal;
  readonly expired: boolean;
  readonly committed: boolean;
  /** From here on nothing ends the call from outside. */
  commit(): void;
  /** The clock stands still while the call waits for a person; returns what starts it again. */
  pause(): () => void;
  /** Ends the call's bookkeeping. */
  close(): void;
}

/**
 * The time limit of one call, together with the signal of whoever asked for it. Close it when the call has ended.
 *
 * @param ms 0 = no limit.
 */
export function startDeadline(ms: number, caller: AbortSignal): Deadline {
  const controller = new AbortController();
  let expired = false;
  let committed = false;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let left = ms;
  let startedAt = 0;
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const start = () => {
    // A question of the call may be given up after the call itself has ended, and would start the clock for good.
    if (ms <= 0 || committed || closed) return;
    startedAt = performance.now();
    timer = setTimeout(() => {
      expired = true;
      controller.abort(new Error('The time limit has passed.'));
    }, left);
  };
  const leave = () => {
    if (!committed) controller.abort(caller.reason);
  };
  if (caller.aborted) leave();
  else caller.addEventListener('abort', leave, { once: true });
  start();
  return {
    signal: controller.signal,
    get expired() {
      return expired;
    },
    get committed() {
      return committed;
    },
    commit() {
      committed = true;
      stop();
    },
    pause() {
      stop();
      left = Math.max(1, left - (performance.now() - startedAt));
      return start;
    },
    close() {
      closed = true;
      stop();
      caller.removeEventListener('abort', leave);
    },
  };
}
