import type { JsonObject, Points } from 'mortise/sdk';
import { type Mode, tasksExtension } from './wire/protocol.js';

/** What plugins contribute besides tools; decides which methods exist and which capabilities are advertised. */
export interface Features {
  readonly resources: boolean;
  readonly subscriptions: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  readonly logging: boolean;
  readonly tasks: boolean;
}

/** Capability of a tool whose log clients may read. */
const loggingCapability = 'logging';

/** Returns the current features, computed again only after a change. */
export function createFeatures(points: Points): () => Features {
  let current: Features | undefined;
  for (const point of ['tool', 'mcp-resource', 'mcp-prompt', 'mcp-completion'] as const) {
    points.onChange(point, () => {
      current = undefined;
    });
  }
  return () => {
    current ??= readFeatures(points);
    return current;
  };
}

function readFeatures(points: Points): Features {
  const tools = points.list('tool').filter(({ facts }) => facts.audience.includes('mcp'));
  const resources = points.list('mcp-resource').filter(({ active }) => active);
  return {
    resources: resources.length > 0,
    subscriptions: resources.some(({ facts }) => facts.subscribe === true),
    prompts: points.keys('mcp-prompt').length > 0,
    completions: points.keys('mcp-completion').length > 0,
    logging: tools.some(({ facts }) => facts.capabilities?.includes(loggingCapability) === true),
    tasks: tools.some(({ facts }) => facts.task === 'allowed' || facts.task === 'required'),
  };
}

export function capabilitiesOf(features: Features, mode: Mode): JsonObject {
  return {
    tools: { listChanged: true },
    ...(features.logging && { logging: {} }),
    ...(features.prompts && { prompts: { listChanged: true } }),
    ...(features.resources && { resources: { listChanged: true, ...(features.subscriptions && { subscribe: true }) } }),
    ...(features.completions && { completions: {} }),
    ...(features.tasks && mode === 'stateless' && { extensions: { [tasksExtension]: {} } }),
  };
}

export function serverInfo(version: string): JsonObject {
  return { name: 'mortise', title: 'Mortise Memory Gateway', version };
}
