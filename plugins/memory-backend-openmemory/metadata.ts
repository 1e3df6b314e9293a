import type { MemoryItem } from 'mortise/sdk';
import { isObject, type Json, objectOf } from './json.js';

/** Members that are ours; what a client calls so is kept one level down. */
const RESERVED = new Set([
  'space',
  'kind',
  'actor_user_id',
  'evidence',
  'payload_sha',
  'mortise_key',
  'correlation_id',
  'client_meta',
]);

/** A memory's own facts beside those that it is found and checked by. */
export function metadataOf(item: MemoryItem): Json {
  const renamed = Object.entries(item.meta).filter(([name]) => RESERVED.has(name));
  return {
    ...item.meta,
    space: item.space,
    kind: item.kind,
    actor_user_id: item.actorUserId,
    evidence: item.evidence,
    payload_sha: item.payloadSha,
    mortise_key: item.memoryKey,
    correlation_id: item.correlationId,
    ...(renamed.length === 0 ? {} : { client_meta: Object.fromEntries(renamed) }),
  };
}

export function tagsOf({ space, kind }: MemoryItem): readonly string[] {
  return [`space:${space}`, ...(kind === null ? [] : [`kind:${kind}`])];
}

/** The user that a private space belongs to; undefined for shared ones. */
export function userOf(space: string): string | undefined {
  return space.startsWith('private:') ? space.slice('private:'.length) : undefined;
}

/** What a server gives back as metadata: an object, or the same as JSON text. Undefined when it gives none. */
export function readMetadata(value: unknown): Json | undefined {
  if (typeof value !== 'string') return isObject(value) ? value : undefined;
  try {
    return objectOf(JSON.parse(value));
  } catch {
    return undefined;
  }
}

const SPACE_TAG = 'space:';

/** The space that a memory was stored in, from its metadata or its tags. */
export function spaceOf(metadata: Json | undefined, tags: unknown): string | undefined {
  if (typeof metadata?.space === 'string') return metadata.space;
  const tag = Array.isArray(tags)
    ? tags.find((one) => typeof one === 'string' && one.startsWith(SPACE_TAG))
    : undefined;
  return typeof tag === 'string' ? tag.slice(SPACE_TAG.length) : undefined;
}
