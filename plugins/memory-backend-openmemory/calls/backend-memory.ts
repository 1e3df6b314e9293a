import type { BackendMemory } from 'mortise/sdk';
import { idOf, objectOf } from '../json.js';
import { readMetadata, spaceOf } from '../metadata.js';

function timeOf(value: unknown): string | undefined {
  const at = typeof value === 'number' || typeof value === 'string' ? new Date(value) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** A memory as a server gives it back; null for what is none. */
export function backendMemory(value: unknown): BackendMemory | null {
  const { id: rawId, content, metadata: rawMetadata, tags, created_at } = objectOf(value);
  const id = idOf(rawId);
  if (id === undefined || typeof content !== 'string') return null;
  const metadata = readMetadata(rawMetadata);
  const space = spaceOf(metadata, tags);
  const createdAt = timeOf(created_at);
  return { id, content, ...(space && { space }), ...(metadata && { metadata }), ...(createdAt && { createdAt }) };
}
