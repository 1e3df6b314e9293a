import type { MemoryBackendContext } from 'mortise/sdk';

const DEFAULT_MS = 30_000;
/** The caller's own clock stops the call too: a failure must be told before that, or its words are lost. */
const HEAD_START_MS = 50;

function budgetOf(timeoutMs: number): number {
  return timeoutMs > 0 ? Math.max(timeoutMs * 0.9, timeoutMs - HEAD_START_MS) : DEFAULT_MS;
}

/** Runs within the time that the call has, however many requests it takes. The signal is aborted when it has passed. */
export async function withinBudget<R>(
  ctx: Pick<MemoryBackendContext, 'signal' | 'timeoutMs'>,
  run: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const controller = new AbortController();
  const stop = () => controller.abort();
  const timer = setTimeout(stop, budgetOf(ctx.timeoutMs));
  if (ctx.signal.aborted) stop();
  else ctx.signal.addEventListener('abort', stop, { once: true });
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    ctx.signal.removeEventListener('abort', stop);
  }
}
