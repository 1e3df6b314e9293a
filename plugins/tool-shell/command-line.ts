import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { CommandLine } from 'mortise/contracts/tool-shell';
import type { SettingsService } from 'mortise/sdk';
import { shellError } from './errors.js';

export interface ShellChoice {
  /** Name or path of the shell; the machine's usual one when absent. */
  readonly shell?: string | undefined;
  readonly login?: boolean | undefined;
}

/** Runs `$1` in the shell `$0` with one stream for output and errors, so that their order is kept. */
const merged = 'exec "$0" "$2" "$1" 2>&1';

/**
 * The command line of a shell command.
 *
 * @throws tool_runtime_unavailable when the machine has no shell, invalid_tool_input when it has not the chosen one
 */
export function shellLine(
  command: string,
  { shell, login = false }: ShellChoice,
  path: string | undefined,
): CommandLine {
  if (process.platform === 'win32') {
    const powershell = findProgram('powershell.exe', path);
    if (powershell) return { file: powershell, args: ['-NoProfile', '-NonInteractive', '-Command', command] };
    return { file: process.env.ComSpec ?? 'cmd.exe', args: ['/d', '/s', '/c', command] };
  }
  const sh = findProgram('sh', path) ?? findProgram('bash', path);
  const chosen = shell === undefined ? sh : findProgram(shell, path);
  if (!sh) throw shellError('tool_runtime_unavailable');
  if (!chosen) throw shellError('invalid_tool_input', `this machine has no shell "${shell}"`);
  return { file: sh, args: ['-c', merged, chosen, command, login ? '-lc' : '-c'] };
}

/** The absolute path of a program, by name in PATH or by path. */
export function findProgram(name: string, path = '/usr/bin:/bin'): string | undefined {
  const places = isAbsolute(name) ? [name] : path.split(delimiter).map((folder) => join(folder, name));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return statSync(place).isFile();
    } catch {
      return false;
    }
  });
}

export interface SandboxFolders {
  /** Real path of the workspace, the only folder that stays writable. */
  readonly workspace: string;
  readonly guarded: SettingsService['guardedPaths'];
  /** Folders of the data directory that may be read. */
  readonly readable: readonly string[];
}

/**
 * The same command in namespaces of its own: the system is read-only, processes outside are invisible and the platform's own
 * files are empty. It ends with the process that started it.
 *
 * @param isFolder whether a path is a folder; undefined when it does not exist
 */
export function sandboxed(
  bwrap: string,
  { file, args }: CommandLine,
  cwd: string,
  { workspace, guarded, readable }: SandboxFolders,
  isFolder: (path: string) => boolean | undefined,
): CommandLine {
  const existing = (paths: readonly string[]) => paths.filter((path) => isFolder(path) !== undefined);
  const hidden = existing(guarded.hidden).flatMap((path) =>
    isFolder(path) ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path],
  );
  const readOnly = existing(guarded.readOnly).flatMap((path) => ['--ro-bind', path, path]);
  const shown = existing(readable).flatMap((path) => ['--ro-bind', path, path]);
  return {
    file: bwrap,
    args: [
      ...['--die-with-parent', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
      ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
      ...['--bind', workspace, workspace, ...readOnly, ...hidden, ...shown, '--chdir', cwd, '--', file, ...args],
    ],
  };
}
