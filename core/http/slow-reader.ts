import type { ServerResponse } from 'node:http';

/** When a client that does not read its answer is given up. */
export interface SlowReaderRule {
  /** Milliseconds without any progress. */
  readonly afterMs: number;
  /** Called before the connection is cut. */
  readonly onCut: () => void;
}

/**
 * Ends a connection whose client takes nothing of what was written, until the function it returns is called. The socket's
 * own time-out looks at the bytes that the system still holds, so slow progress counts as progress.
 */
export function cutSlowReader(response: ServerResponse, { afterMs, onCut }: SlowReaderRule): () => void {
  const { socket } = response;
  if (!socket || socket.writableLength === 0) return () => undefined;
  const cut = () => {
    onCut();
    response.destroy();
  };
  response.once('timeout', cut);
  socket.setTimeout(afterMs);
  return () => {
    response.off('timeout', cut);
    if (!socket.destroyed) socket.setTimeout(0);
  };
}
