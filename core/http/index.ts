/** The one HTTP port: admission, routing, bodies, responses, sockets and shutdown. Begin with `admission.ts`. */
export { callDepthHeader } from './exchange.js';
export { createHttpServer, type HttpDeps, type HttpServer } from './http-server.js';
export type { MountedRoute, RouteInvoker } from './mounted-route.js';
export type { ReadSetting } from './mounts.js';
