import type { Features, Method } from '../method.js';
import type { Era } from '../wire/versions.js';
import { complete } from './completion.js';
import { discover, initialize, ping } from './lifecycle.js';
import { listen } from './listen.js';
import { setLevel } from './logging.js';
import { getPrompt, listPrompts } from './prompts.js';
import { listResources, listResourceTemplates, readResource, subscribe, unsubscribe } from './resources.js';
import { cancelTask, getTask, updateTask } from './task-methods.js';
import { callTool, listTools } from './tools.js';

const table: ReadonlyMap<string, Method> = new Map(
  Object.entries({
    initialize,
    ping,
    'server/discover': discover,
    'tools/list': listTools,
    'tools/call': callTool,
    'logging/setLevel': setLevel,
    'resources/list': listResources,
    'resources/templates/list': listResourceTemplates,
    'resources/read': readResource,
    'resources/subscribe': subscribe,
    'resources/unsubscribe': unsubscribe,
    'prompts/list': listPrompts,
    'prompts/get': getPrompt,
    'completion/complete': complete,
    'subscriptions/listen': listen,
    'tasks/get': getTask,
    'tasks/update': updateTask,
    'tasks/cancel': cancelTask,
  }),
);

function isThere(method: Method, era: Era, features: () => Features): boolean {
  return method.eras.includes(era) && (method.needs === undefined || features()[method.needs]);
}

/** A method that exists in this era with what plugins contribute now. */
export function methodNamed(name: string, era: Era, features: () => Features): Method | undefined {
  const method = table.get(name);
  return method && isThere(method, era, features) ? method : undefined;
}

export function methodNames(era: Era, features: Features): readonly string[] {
  return [...table].filter(([, method]) => isThere(method, era, () => features)).map(([name]) => name);
}
