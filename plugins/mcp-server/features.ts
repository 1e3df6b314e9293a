import { createContributionCache, type JsonObject, type Points } from 'mortise/sdk';
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

/** Returns the current features. */
export function createFeatures(points: Points): () => Features {
  const tools = createContributionCache(points, 'tool', (all) => {
    const listed = all.filter(({ facts }) => facts.audience.includes('mcp'));
    return {
      logging: listed.some(({ facts }) => facts.capabilities?.includes(loggingCapability) === true),
      tasks: listed.some(({ facts }) => facts.task === 'allowed' || facts.task === 'required'),
    };
  });
  const resources = createContributionCache(points, 'mcp-resource', (all) => {
    const active = all.filter((resource) => resource.active);
    return {
      resources: active.length > 0,
      subscriptions: active.some(({ facts }) => facts.subscribe === true),
    };
  });
  const prompts = createContributionCache(points, 'mcp-prompt', (all) => all.some(({ active }) => active));
  const completions = createContributionCache(points, 'mcp-completion', (all) => all.some(({ active }) => active));
  return () => ({
    ...tools.current,
    ...resources.current,
    prompts: prompts.current,
    completions: completions.current,
  });
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
