import type { CallContext, CallOptions, ManifestRoute, RouteContribution } from '../sdk/index.js';

/** A declared route, and the way into the contribution that serves it. */
export interface MountedRoute {
  /** Key of the plugin whose manifest declares the route. */
  readonly plugin: string;
  readonly declaration: ManifestRoute;
  /** False: the plugin is switched off; the route stays in the table and answers 404 with a hint. */
  readonly enabled: boolean;
  /** Absent while an enabled plugin is not active: the route answers 503. */
  readonly invoke?: RouteInvoker;
}

/**
 * Leased access to one route contribution. The lease lasts until `run` settles, and `run` settles when the response is
 * written, the iterator of a stream has ended, or the socket is closed. A rejection that does not come from `run` (time
 * limit, abort) is answered as an error if nothing was sent yet.
 */
export interface RouteInvoker {
  call<R>(run: (route: RouteContribution, ctx: CallContext) => R | Promise<R>, options: CallOptions): Promise<R>;
}
