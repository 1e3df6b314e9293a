import { join } from 'node:path';
import type { PluginDefinition, PromptSource } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { installCommand } from './install-prompts.js';
import { memoryFolder } from './memories/memory-folder.js';
import { MemoryJobs } from './memories/memory-jobs.js';
import { PromptFiles } from './prompt-files.js';
import { promptSources, turnToolsLayer } from './prompt-sources.js';
import { layersCommand, runtimeConfigRoute, systemLayersRoute } from './system-layers.js';

/** System prompts in layers, from files of the workspace or the shipped texts. */
export default function prompts(): PluginDefinition<Config> {
  return {
    key: 'prompts',
    start(host) {
      const { config, log } = host;
      const files = host.use('files');
      const workspace = host.use('settings').workspaceDir;
      const shipped = join(files.pluginFolder, 'texts');
      const turns = host.use('turns');
      const texts = new PromptFiles(files, workspace, shipped);
      const build = promptSources({ config, files: texts, workspace, log });
      const memories = new MemoryJobs({
        points: host.points,
        sessions: host.use('sessions'),
        models: host.use('models'),
        texts,
        files,
        folder: (principal) => memoryFolder(config, workspace, principal),
        workspace,
        log,
      });
      host.on('task-completed', (task) => {
        if (task.task === 'memory') memories.add(task);
      });
      const source = (key: string, of: PromptSource['build']): PromptSource => ({
        ...host.facts('prompt-source', key),
        build: of,
      });

      host.contribute('prompt-source', 'default', source('default', build.default));
      host.contribute('prompt-source', 'codex', source('codex', build.codex));
      host.contribute('prompt-source', 'claude', source('claude', build.claude));
      host.contribute(
        'prompt-source',
        'turn-tools',
        source('turn-tools', async ({ meta = {} }) => turnToolsLayer(meta)),
      );
      host.contribute('route', 'runtime-config', runtimeConfigRoute(config));
      host.contribute('route', 'system-layers', systemLayersRoute(config, turns));
      host.contribute('command', 'layers', layersCommand(host.facts('command', 'layers'), config, turns));
      const install = installCommand(host.facts('command', 'prompts-install'), { files, workspace, shipped });
      host.contribute('command', 'prompts-install', install);
      return { drain: () => memories.idle(), stop: () => memories.stop() };
    },
  };
}
