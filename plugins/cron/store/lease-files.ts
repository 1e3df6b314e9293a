import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Whether a lease file of another tool holds a lease of a job. Unreadable and expired files do not count. Synchronous: it
 * is called within a transaction, and the folder usually does not exist.
 *
 * @param now epoch milliseconds
 */
export function isHeldByFile(folder: string, jobId: string, slotNo: number, now: number): boolean {
  if (!existsSync(folder)) return false;
  try {
    const path = join(folder, Buffer.from(jobId).toString('base64url'), `slot-${slotNo}.json`);
    const { expires_at } = JSON.parse(readFileSync(path, 'utf8')) as { readonly expires_at?: unknown };
    return typeof expires_at === 'string' && Date.parse(expires_at) > now;
  } catch {
    return false;
  }
}
