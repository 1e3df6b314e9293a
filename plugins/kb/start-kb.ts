import { join } from 'node:path';
import { MortiseError, type PluginLifecycle, type StartHost, whenServing } from 'mortise/sdk';
import { createRoutes } from './api/routes.js';
import { createCommands } from './commands/kb-commands.js';
import type { Config } from './config.generated.js';
import { createKnowledgeBase } from './service/knowledge-base.js';
import { readSettings } from './service/settings.js';
import { createWatch } from './service/watch-repo.js';
import { createThread } from './threads/thread.js';
import { audienceOf, kbForPlugins, readTool, searchTool } from './tools/kb-tools.js';
import { kbPromptSource } from './tools/prompt-source.js';

/** How often a server looks whether an index was lost, milliseconds. */
const checkEveryMs = 5_000;

/** Starts the threads of the knowledge base and contributes its routes, commands and tools. */
export function startKb(host: StartHost<Config>): PluginLifecycle<Config> {
  const { dataDir, workspaceDir } = host.use('settings');
  const metrics = host.use('metrics');
  const settings = readSettings(host.config, workspaceDir);
  const { module } = host.use('text-analysis');
  const audit = host.watch('audit');
  const file = join(dataDir, 'kb.db');
  const fallbacks = metrics.counter(
    'kb_embedder_fallbacks_total',
    'Searches answered without the vectors they asked for.',
  );
  const searches = metrics.histogram('kb_search_seconds', 'Duration of searches.', ['empty']);
  const kb = createKnowledgeBase({
    settings,
    reader: createThread(file, module),
    worker: createThread(file, module),
    points: host.points,
    audit: () => audit.current,
    auditSearches: host.config.audit === 'all',
    log: host.log,
    countFallback: () => fallbacks.add(),
    countSearch: (isEmpty, ms) => searches.record(ms / 1_000, { empty: String(isEmpty) }),
  });
  for (const [name, route] of Object.entries(createRoutes(kb))) host.contribute('route', name, route);
  const commands = createCommands({ kb, plugins: host.use('plugins'), host, file });
  for (const [key, command] of Object.entries(commands)) {
    host.contribute('command', key, { ...host.facts('command', key), ...command });
  }
  const audience = audienceOf(host.config.mcp_tools);
  host.contribute('tool', 'kb_search', searchTool(kb, audience));
  host.contribute('tool', 'kb_read', readTool(kb, audience));
  host.contribute('prompt-source', 'kb', kbPromptSource(kb, host.config.prompt.enabled && settings.repos.length > 0));
  host.provide('kb', kbForPlugins(kb));
  const watches = host.config.watch ? settings.repos.map((repo) => createWatch(kb, repo, host.log)) : [];
  // Without a server a command refreshes on request; only a server keeps the index current.
  whenServing(host, host.use('http'), () => {
    for (const watch of watches) watch.start();
    host.every(checkEveryMs, () => Promise.all(watches.map((watch) => watch.check())));
  });
  let refused: MortiseError | undefined;
  return {
    // Values that exclude each other: the schema cannot say so. The configuration in force stays.
    reconfigure: (next) => {
      try {
        readSettings(next, workspaceDir);
      } catch (error) {
        if (!(error instanceof MortiseError)) throw error;
        refused = error;
        const { message } = error;
        host.emit('alert', { source: 'settings:kb', severity: 'medium', code: 'kb_config_invalid', message });
        return 'applied';
      }
      return 'restart';
    },
    health: () => {
      if (refused === undefined) return { ok: true };
      const { message, hint } = refused;
      return { ok: false, detail: `The configuration is not applied: ${message}`, ...(hint ? { hint } : {}) };
    },
    stop: async () => {
      for (const watch of watches) watch.close();
      await kb.close();
    },
  };
}
