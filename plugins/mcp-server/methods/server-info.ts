import type { Features } from '../method.js';
import type { JsonObject } from '../wire/json.js';
import { tasksExtension } from '../wire/names.js';
import type { Era } from '../wire/versions.js';

export function serverInfo(version: string): JsonObject {
  return { name: 'mortise', title: 'Mortise Memory Gateway', version };
}

/** What the endpoint can do at this moment: only what plugins contribute is advertised. */
export function capabilitiesOf(features: Features, era: Era): JsonObject {
  return {
    tools: { listChanged: true },
    ...(features.logging && { logging: {} }),
    ...(features.prompts && { prompts: { listChanged: true } }),
    ...(features.resources && { resources: { listChanged: true, ...(features.subscriptions && { subscribe: true }) } }),
    ...(features.completions && { completions: {} }),
    ...(features.tasks && era === 'stateless' && { extensions: { [tasksExtension]: {} } }),
  };
}
