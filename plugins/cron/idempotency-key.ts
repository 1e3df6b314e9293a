import { createHash } from 'node:crypto';

const maxLength = 128;

/** The key of a slot, or of a manual run: the same for every attempt. */
export function slotKey(jobId: string, slotOrRun: string): string {
  return shortKey(`cron:${encodeURIComponent(jobId)}:${slotOrRun}`);
}

/** The key of a node within a slot. */
export function nodeKey(key: string, nodeId: string): string {
  return shortKey(`${key}:${encodeURIComponent(nodeId)}`);
}

function shortKey(key: string): string {
  return key.length <= maxLength ? key : `cron:${createHash('sha256').update(key).digest('hex')}`;
}
