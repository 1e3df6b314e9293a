import type { CallContext, CallOptions, ObservationHandler, Points } from 'mortise/sdk';
import { deferred } from './deferred.js';

type Use = (handler: ObservationHandler, ctx: CallContext) => Promise<unknown>;

/**
 * A handler whose lease is taken when the observation is accepted and used when its turn has come. A handler's plugin
 * that is being stopped waits for its leases: what was accepted before is still handled.
 */
export interface HeldHandler {
  readonly key: string;
  /** Runs the handler to its real end, also when the call was aborted. Rejects with what the handler threw. */
  run(use: Use): Promise<unknown>;
  /** Gives the lease back unused. */
  release(): void;
}

export function holdHandler(points: Points, key: string, options: CallOptions): HeldHandler {
  const turn = deferred<Use | undefined>();
  const ended = deferred<unknown>();
  let begun = false;
  const call = points.call(
    'observation-handler',
    key,
    async (handler, ctx) => {
      const giveUp = (): void => turn.resolve(undefined);
      ctx.signal.addEventListener('abort', giveUp, { once: true });
      const use = await turn.promise;
      ctx.signal.removeEventListener('abort', giveUp);
      if (!use || ctx.signal.aborted) return;
      begun = true;
      const result = use(handler, ctx);
      result.then(ended.resolve, ended.reject);
      // The lease lasts as long as the handler; its failure is told to the worker alone.
      await result.catch(() => undefined);
    },
    { ...options, timeoutMs: 0 },
  );
  call.catch((error: unknown) => {
    // Aborted while it waited, or not there at all. Once begun, the handler itself says how it ended.
    if (!begun) ended.reject(error);
  });
  ended.promise.catch(() => undefined);
  return {
    key,
    run(use) {
      turn.resolve(use);
      return ended.promise;
    },
    release: () => turn.resolve(undefined),
  };
}
