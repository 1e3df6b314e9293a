import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Command, type CommandFacts, type FilesService, wrongUsage } from 'mortise/sdk';

/** Whether a path below the shipped texts belongs to a mode. */
const belongsTo: Readonly<Record<string, (path: string) => boolean>> = {
  default: (path) => !path.startsWith('prompts/codex/') && !path.startsWith('prompts/claude/'),
  codex: (path) => path.startsWith('prompts/codex/'),
  claude: (path) => path.startsWith('prompts/claude/'),
};

interface InstallDeps {
  readonly files: Pick<FilesService, 'confine' | 'writeAtomic'>;
  readonly workspace: string;
  /** Absolute path of the folder with the shipped texts. */
  readonly shipped: string;
}

/** Writes the shipped texts of a mode into the workspace. Files that exist stay unless `--force` is given. */
export function installCommand(facts: CommandFacts, deps: InstallDeps): Command {
  return {
    ...facts,
    async run({ options: { mode, force } }) {
      const wanted = typeof mode === 'string' ? belongsTo[mode] : undefined;
      if (!wanted) return wrongUsage(facts, '--mode is required: default, codex or claude.');
      const written: string[] = [];
      const existing: string[] = [];
      for (const path of (await filesBelow(deps.shipped)).filter(wanted)) {
        (await install(deps, path, force === true)) ? written.push(path) : existing.push(path);
      }
      const kept =
        existing.length === 0 ? [] : [`${existing.length} files exist and were not replaced (--force replaces them).`];
      return {
        exitCode: 0,
        data: { written, existing },
        text: [...written.map((path) => `wrote ${path}`), ...kept].join('\n'),
      };
    },
  };
}

async function install({ files, workspace, shipped }: InstallDeps, path: string, force: boolean): Promise<boolean> {
  const target = await files.confine(workspace, path);
  const text = await readFile(join(shipped, path), 'utf8');
  const existing = await readFile(target, 'utf8').catch(() => undefined);
  if (existing !== undefined && !force) return false;
  await mkdir(dirname(target), { recursive: true });
  await files.writeAtomic(target, text);
  return true;
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}
