import type { Points } from 'mortise/sdk';
import type { Features } from './method.js';

/** Capability of a tool that writes a log its client may read. */
const loggingCapability = 'logging';

/** What plugins contribute at this moment, read again after a change only. */
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
