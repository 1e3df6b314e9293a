import type { PluginDefinition, Tool } from 'mortise/sdk';
import { claudeFileTools } from './claude/file-tools.js';
import type { Config } from './config.generated.js';
import { openWorkspaceFiles } from './confinement.js';
import { type EditItem, edit } from './edit.js';
import { explainItems } from './errors.js';
import { type FindItem, find } from './find.js';
import { type ViewItem, view } from './view.js';

/** File tools, and the service `workspace-files` behind them. */
export default function toolFiles(): PluginDefinition<Config> {
  return {
    key: 'tool-files',
    start(host) {
      const files = openWorkspaceFiles({
        paths: host.use('settings'),
        files: host.use('files'),
        fileRoots: host.config.file_roots,
      });
      host.provide('workspace-files', files);
      const native: Readonly<Record<string, Pick<Tool, 'run' | 'explain'>>> = {
        view: { run: ({ items }) => view(items as readonly ViewItem[], files), explain: explainItems },
        edit: { run: ({ items }) => edit(items as readonly EditItem[], files), explain: explainItems },
        find: {
          run: ({ items }, { signal }) => find(items as readonly FindItem[], files, signal),
          explain: explainItems,
        },
      };
      for (const [name, code] of Object.entries({ ...native, ...claudeFileTools(files) })) {
        host.contribute('tool', name, { ...host.facts('tool', name), ...code });
      }
    },
  };
}
