import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { boundUser, type Principal, pathBelow } from 'mortise/sdk';
import type { Config } from '../config.generated.js';

/** Names below the folder of memories. */
export const memoryFiles = {
  memory: 'MEMORY.md',
  summary: 'memory_summary.md',
  raw: 'raw_memories.md',
  sessions: 'rollout_summaries',
} as const;

/** The folder of the codex mode's memories. A caller that is bound to a user has its own: memories quote conversations. */
export function memoryFolder(
  { codex_memory_root: own }: Pick<Config, 'codex_memory_root'>,
  workspace: string,
  principal: Principal,
): string {
  const root = own || join(workspace, '.codex', 'memories');
  const user = boundUser(principal);
  if (user === undefined) return root;
  return join(root, 'users', createHash('sha256').update(user).digest('hex').slice(0, 16));
}

/** A path below the workspace without the workspace, so that it is confined there; any other path as it is. */
export function workspacePath(workspace: string, path: string): string {
  return pathBelow(workspace, path) ?? path;
}
