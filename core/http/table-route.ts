import type { MountedRoute } from './mounted-route.js';
import type { Mount } from './mounts.js';

/** One method of one path. */
export interface TableRoute {
  readonly mounted: MountedRoute;
  readonly mount: Mount;
  /** The declared path: what logs, metrics and audit rows name. */
  readonly pattern: string;
  readonly paramNames: readonly string[];
}
