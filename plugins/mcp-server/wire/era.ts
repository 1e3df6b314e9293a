import { type JsonObject, member } from './json.js';
import { metaNames } from './names.js';
import { type Era, isSessionVersion } from './versions.js';

/** Methods that exist in the stateless revision alone. */
function isStatelessOnly(method: string): boolean {
  return method === 'server/discover' || method === 'subscriptions/listen' || method.startsWith('tasks/');
}

/**
 * Which rules a message is served by. A version that no session revision has speaks for the stateless era, in `_meta`
 * before the header; a method that only that era knows does so when nothing else is said.
 */
export function eraOf(message: {
  readonly method: string;
  readonly meta: JsonObject;
  readonly headerVersion: string | undefined;
  readonly hasSession: boolean;
}): Era {
  const metaVersion = member(message.meta, metaNames.protocolVersion);
  if (metaVersion !== undefined && !isSessionVersion(metaVersion)) return 'stateless';
  if (message.headerVersion !== undefined && !isSessionVersion(message.headerVersion)) return 'stateless';
  if (message.headerVersion === undefined && !message.hasSession && isStatelessOnly(message.method)) return 'stateless';
  return 'session';
}
