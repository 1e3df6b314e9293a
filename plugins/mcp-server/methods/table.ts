import type { Features } from '../features.js';
import type { Method } from '../method.js';
import type { Mode } from '../wire/protocol.js';
import { complete } from './completion.js';
import { discover, initialize, ping, setLevel } from './lifecycle.js';
import { listen } from './listen.js';
import { getPrompt, listPrompts } from './prompts.js';
import { listResources, listResourceTemplates, readResource, subscribe, unsubscribe } from './resources.js';
import { callTool, cancelTask, getTask, listTools, updateTask } from './tools.js';

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

function isAvailable(method: Method, mode: Mode, features: () => Features): boolean {
  return method.modes.includes(mode) && (method.needs === undefined || features()[method.needs]);
}

/** A method that exists in this mode with the current contributions. */
export function methodNamed(name: string, mode: Mode, features: () => Features): Method | undefined {
  const method = table.get(name);
  return method && isAvailable(method, mode, features) ? method : undefined;
}

export function methodNames(mode: Mode, features: Features): readonly string[] {
  return [...table].filter(([, method]) => isAvailable(method, mode, () => features)).map(([name]) => name);
}
