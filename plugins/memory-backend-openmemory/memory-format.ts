import { type BackendMemory, isJsonObject, isUnstorableText, type JsonObject, type MemoryItem } from 'mortise/sdk';

/** The value as an object; an empty one for anything else. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** An id as text; undefined for any other value, and for a text that a database cannot store. */
export function idOf(value: unknown): string | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' && value !== '' && !isUnstorableText(value) ? value : undefined;
}

/** Metadata members that this backend sets; a client's members of the same name are sent in `client_meta`. */
const reservedMembers = new Set([
  'space',
  'kind',
  'actor_user_id',
  'evidence',
  'payload_sha',
  'mortise_key',
  'correlation_id',
  'client_meta',
]);

/** The metadata sent with a memory: its own, and the members by which it is found and verified. */
export function metadataOf(item: MemoryItem): JsonObject {
  const renamed = Object.entries(item.meta).filter(([name]) => reservedMembers.has(name));
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

const spaceTag = 'space:';

export function tagsOf({ space, kind }: MemoryItem): readonly string[] {
  return [`${spaceTag}${space}`, ...(kind === null ? [] : [`kind:${kind}`])];
}

/** The user of a private space; undefined for shared spaces. */
export function userOf(space: string): string | undefined {
  return space.startsWith('private:') ? space.slice('private:'.length) : undefined;
}

/** Metadata of a server's response, which can be an object or JSON text; undefined when there is none. */
export function readMetadata(value: unknown): JsonObject | undefined {
  if (typeof value !== 'string') return isJsonObject(value) ? value : undefined;
  try {
    return objectOf(JSON.parse(value));
  } catch {
    return undefined;
  }
}

/** The space in which a memory was stored, from its metadata or its tags. */
export function spaceOf(metadata: JsonObject | undefined, tags: unknown): string | undefined {
  if (typeof metadata?.space === 'string') return metadata.space;
  const tag = Array.isArray(tags) ? tags.find((one) => typeof one === 'string' && one.startsWith(spaceTag)) : undefined;
  return typeof tag === 'string' ? tag.slice(spaceTag.length) : undefined;
}

/** A memory in a server's response; null for a value that is not a memory. */
export function memoryOf(value: unknown): BackendMemory | null {
  const { id: rawId, content, metadata: rawMetadata, tags, created_at } = objectOf(value);
  const id = idOf(rawId);
  if (id === undefined || typeof content !== 'string') return null;
  const metadata = readMetadata(rawMetadata);
  const space = spaceOf(metadata, tags);
  const createdAt = timeOf(created_at);
  return { id, content, ...(space && { space }), ...(metadata && { metadata }), ...(createdAt && { createdAt }) };
}

function timeOf(value: unknown): string | undefined {
  const at = typeof value === 'number' || typeof value === 'string' ? new Date(value) : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
