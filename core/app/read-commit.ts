import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The commit that a checkout stands on, read from git's own files; undefined outside a checkout. */
export function readCommit(projectDir: string): string | undefined {
  const read = (file: string): string | undefined => {
    try {
      return readFileSync(join(projectDir, '.git', file), 'utf8').trim();
    } catch {
      return undefined;
    }
  };
  const head = read('HEAD');
  if (head === undefined) return undefined;
  const branch = /^ref: (.+)$/.exec(head)?.[1];
  if (branch === undefined) return isCommit(head) ? head : undefined;
  const commit =
    read(branch) ??
    read('packed-refs')
      ?.split('\n')
      .find((line) => line.endsWith(` ${branch}`))
      ?.split(' ')[0];
  return commit !== undefined && isCommit(commit) ? commit : undefined;
}

function isCommit(text: string): boolean {
  return /^[0-9a-f]{40,64}$/.test(text);
}
