import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { commandEnvironment } from 'mortise/contracts/tool-shell';
import { explainMembers, isJsonObject, type PluginDefinition } from 'mortise/sdk';
import { type BrowserItem, browse } from './browse.js';
import { browserFacts } from './browser-facts.js';
import type { Config } from './config.generated.js';

/** A browser agent as a tool, while it is enabled and there is one. */
export default function toolBrowser(): PluginDefinition<Config> {
  return {
    key: 'tool-browser',
    async start(host) {
      const { config, log } = host;
      if (!config.enabled) return;
      const agentDir = config.agent_dir?.trim() ?? '';
      const agent = agentDir === '' ? undefined : await stat(join(agentDir, 'agent.js')).catch(() => undefined);
      if (!agent?.isFile()) {
        log.warn({ code: 'browser_agent_missing' }, 'the browser tool is enabled, but agent_dir has no agent.js');
        return;
      }
      const envs = host.watch('envs');
      const deps = {
        agentDir,
        fetch: host.use('fetch'),
        environment: () => commandEnvironment(process.env, envs.current?.exported() ?? {}),
      };
      host.contribute('tool', 'browser', {
        ...browserFacts,
        explain: explainMembers({ task: 'tool input task is required' }),
        normalise: ({ items, ...rest }) => ({ ...rest, items: Array.isArray(items) ? items.map(withTask) : items }),
        run: ({ items }, { signal }) => browse(items as readonly BrowserItem[], deps, signal),
      });
    },
  };
}

/** Models also call the task a query. */
function withTask(item: unknown): unknown {
  if (!isJsonObject(item) || 'task' in item || !('query' in item)) return item;
  const { query, ...rest } = item;
  return { task: query, ...rest };
}
