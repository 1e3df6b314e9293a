import type { MethodCall } from '../method.js';

/** Members that tell a stateless client how long a result may be kept, and for whom; nothing between sessions. */
export function listCaching({ era, server }: MethodCall, ttlMs: number): string {
  if (era === 'session') return '';
  return `,"ttlMs":${ttlMs},"cacheScope":"${server.http.keyed ? 'private' : 'public'}"`;
}
