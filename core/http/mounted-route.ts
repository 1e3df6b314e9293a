import type { CallContext, CallOptions, ManifestMount, ManifestRoute } from '../sdk/index.js';
import type { RouteContribution } from '../sdk/points/route.js';
import type { Mount } from './mounts.js';

/** A declared route, with access to the contribution that serves it. */
export interface MountedRoute {
  /** Key of the plugin whose manifest declares the route. */
  readonly plugin: string;
  readonly declaration: ManifestRoute;
  /** The mount that the declaration names; the default mount when absent. */
  readonly mount?: ManifestMount | undefined;
  /** False: the plugin is disabled; the route stays in the table and answers 404 with a hint. */
  readonly enabled: boolean;
  /** Absent while an enabled plugin is not active: the route answers 503. */
  readonly invoke?: RouteInvoker;
  /** Hint for the 503 where the plugin's state gives none. */
  readonly hint?: string;
}

/**
 * Leased access to one route contribution. The lease lasts until `run` settles, and `run` settles when the response is
 * written, the iterator of a stream has ended, or the socket is closed. A rejection that does not come from `run` (time
 * limit, abort) is answered as an error if nothing was sent yet.
 */
export interface RouteInvoker {
  call<R>(run: (route: RouteContribution, ctx: CallContext) => R | Promise<R>, options: CallOptions): Promise<R>;
}

/** One method of one path in the route table. */
export interface TableRoute {
  readonly mounted: MountedRoute;
  readonly mount: Mount;
  /** The declared path: what logs, metrics and audit rows name. */
  readonly pattern: string;
  readonly paramNames: readonly string[];
}
