/** The one HTTP port: admission, routing, bodies, responses, sockets and shutdown. */
export { createHttpServer, type HttpDependencies, type HttpServer } from './http-server.js';
export type { HttpServerSettings, KeyedPrincipal, RequestRate } from './http-settings.js';
export type { MountedRoute, RouteInvoker } from './mounted-route.js';
export { mcpMaxBytes, mountNames } from './mounts.js';
