import { statSync } from 'node:fs';
import { join } from 'node:path';
import { batchResult } from 'mortise/contracts/agent';
import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { type CommandLine, type RunningCommand, runToEnd } from 'mortise/contracts/tool-shell';
import type { SettingsService } from 'mortise/sdk';
import { findProgram, type SandboxFolders, type ShellChoice, sandboxed, shellLine } from './command-line.js';
import { shellError } from './errors.js';
import { maxOutput, startCommand } from './running-command.js';

/** What commands are started with. */
export interface ShellDeps {
  readonly files: WorkspaceFiles;
  readonly settings: Pick<SettingsService, 'dataDir' | 'guardedPaths'>;
  readonly sandbox: 'off' | 'bwrap';
  readonly processLimit: number;
  /** The environment of commands. */
  readonly environment: () => Readonly<Record<string, string>>;
}

interface CommandRequest extends ShellChoice {
  readonly command: string;
  readonly cwd?: string | undefined;
  readonly tty?: boolean | undefined;
  readonly sandbox_permissions?: string | undefined;
}

/** @throws tool_permission_denied, tool_runtime_unavailable, invalid_tool_input */
export async function start(request: CommandRequest, deps: ShellDeps): Promise<RunningCommand> {
  const { command, tty = false } = request;
  if (command.trim() === '' || command.includes('\0')) throw shellError('invalid_tool_input');
  if (/^require_escalated(?:_permissions)?$/.test(request.sandbox_permissions ?? '')) {
    throw shellError('tool_permission_denied', 'escalated permissions are not available');
  }
  const cwd = await folderOf(request.cwd, deps);
  const env = deps.environment();
  const line = shellLine(command, request, env.PATH);
  const confined = deps.sandbox === 'off' ? line : await inSandbox(line, cwd, deps, env.PATH);
  return startCommand(confined, tty, { cwd, env, processLimit: deps.processLimit, outputLimit: maxOutput });
}

async function folderOf(cwd: string | undefined, { files }: ShellDeps): Promise<string> {
  if (cwd === undefined || cwd.trim() === '') return files.root();
  const real = await files.locate(cwd, 'read').catch((cause: unknown) => {
    throw shellError('tool_permission_denied', 'cwd is outside of the allowed folders', { cause });
  });
  if (isFolder(real) !== true) throw shellError('invalid_tool_input', 'tool input cwd is not a folder');
  return real;
}

async function inSandbox(line: CommandLine, cwd: string, deps: ShellDeps, path: string | undefined) {
  const bwrap = findProgram('bwrap', path);
  if (!bwrap) {
    throw shellError('tool_runtime_unavailable', 'the sandbox program bwrap is missing', {
      hint: 'Install bubblewrap, or set MORTISE_SHELL_SANDBOX=off.',
    });
  }
  const { dataDir, guardedPaths } = deps.settings;
  const folders: SandboxFolders = {
    workspace: await deps.files.root(),
    guarded: guardedPaths,
    readable: [join(dataDir, 'skills'), join(dataDir, 'uploads')],
  };
  return sandboxed(bwrap, line, cwd, folders, isFolder);
}

function isFolder(path: string): boolean | undefined {
  try {
    return statSync(path).isDirectory();
  } catch {
    return undefined;
  }
}

const usualSeconds = 20;
const maxSeconds = 120;

export interface ShellItem extends CommandRequest {
  readonly timeout_seconds?: number;
}

/** Runs commands to their end, one after another. */
export async function runShell(items: readonly ShellItem[], deps: ShellDeps, signal: AbortSignal): Promise<object> {
  const results: Awaited<ReturnType<typeof runOne>>[] = [];
  for (const item of items) results.push(await runOne(item, deps, signal));
  return batchResult(results);
}

async function runOne(item: ShellItem, deps: ShellDeps, signal: AbortSignal) {
  const { command, timeout_seconds: seconds } = item;
  signal.throwIfAborted();
  const running = await start(item, deps);
  const { exitCode, exceeded, text: output } = await runToEnd(running, secondsOf(seconds) * 1_000, signal);
  if (exceeded) throw tooManyProcesses(deps);
  return { ok: true, command, exit_code: exitCode, output, text: textOf(command, exitCode, output) };
}

export function tooManyProcesses({ processLimit }: ShellDeps) {
  const message = `the command started more than ${processLimit} processes and was ended`;
  return shellError('tool_permission_denied', message, { details: { process_limit: processLimit } });
}

function secondsOf(value: number | undefined): number {
  return value === undefined || !(value > 0) ? usualSeconds : Math.min(value, maxSeconds);
}

export function textOf(command: string, exitCode: number | undefined, output: string): string {
  const failed = exitCode === undefined || exitCode === 0 ? [] : [`(command exited with code ${exitCode})`];
  const shown = output === '' ? [] : [output];
  const quiet = shown.length === 0 && exitCode === 0 ? ['(command completed with no output)'] : [];
  return [`$ ${command}`, ...failed, ...quiet, ...shown].join('\n');
}
