import type { UpgradeRoute } from 'mortise/sdk';
import type { Connections } from './connections.js';

/** The longest frame, bytes; a longer one closes the socket with 1009. */
const maxFrameBytes = 4 * 1024 * 1024;

/** `/ws`. Anyone may open it: where keys are set, the first frame has to authenticate. */
export function socketRoute(connections: Connections): UpgradeRoute {
  return { maxFrameBytes, open: (socket, ctx) => connections.open(socket, ctx) };
}
