import { join } from 'node:path';
import type {} from 'mortise/contracts/workspace';
import type { PluginDefinition } from 'mortise/sdk';
import { workspaceCommands } from './commands.js';
import type { Config } from './config.generated.js';
import type { Parts } from './parts.js';
import { workspaceRoutes } from './routes.js';
import { TextFiles } from './text-files.js';
import { importWorkspace } from './transfer.js';
import { Uploads } from './uploads.js';
import { Workspace } from './workspace.js';

const dayMs = 86_400_000;

/** What people have configured as files: prompts, skills and settings; uploads; export and import. */
export default function workspacePlugin(): PluginDefinition<Config> {
  return {
    key: 'workspace',
    async start(host) {
      const { upload_retention_days: days, ai_tools_guide_path: guide } = host.config;
      const settings = host.use('settings');
      const [envs, channels, cron] = [host.watch('envs'), host.watch('channels'), host.watch('cron')];
      const [models, skills] = [host.watch('model-settings'), host.watch('skills')];
      const parts: Parts = {
        get envs() {
          return envs.current;
        },
        get channels() {
          return channels.current;
        },
        get cron() {
          return cron.current;
        },
        get models() {
          return models.current;
        },
        get skills() {
          return skills.current;
        },
      };
      const texts = new TextFiles(host.use('workspace-files'), settings.workspaceDir, guide);
      const workspace = new Workspace({
        parts,
        texts,
        audit: host.use('audit'),
        http: host.use('http'),
        refused: (refusal) => host.emit('refusal', refusal),
      });
      const uploads = new Uploads(join(settings.dataDir, 'uploads'));
      const deps = { workspace, uploads, parts, texts, database: host.use('database'), log: host.log };
      host.provide('workspace', { import: (body, ctx) => importWorkspace(deps, body, ctx) });
      for (const [name, route] of Object.entries(workspaceRoutes(deps))) host.contribute('route', name, route);
      const commands = workspaceCommands(deps, (key) => host.facts('command', key));
      for (const [key, command] of Object.entries(commands)) host.contribute('command', key, command);
      await uploads.prune(days, host.log);
      host.every(dayMs, () => uploads.prune(days, host.log));
    },
  };
}
