import { hash } from 'node:crypto';
import { isAgentGenerated } from 'mortise/contracts/conversation';
import { canonicalJson, type Observation } from 'mortise/sdk';
import { type Draft, isReleased } from '../draft.js';

/** Explicit requests may be repeated; their duplicates are controlled by idempotency keys. */
const exempt: readonly Observation['ingress'][] = ['api', 'ws', 'cron', 'internal'];

/** Whether its entry point removes duplicates, so that equal content was really sent twice. */
function isDistinct({ ingress, evidence }: Observation): boolean {
  return exempt.includes(ingress) || (ingress === 'channel' && typeof evidence?.raw_event_id === 'string');
}

/**
 * Proposes to drop the same content of the same actor in the same session within the scene's window. The window starts
 * with the first occurrence and is not extended by duplicates. {@link rememberContent} writes the entry.
 */
export function dedup(draft: Draft, memory: DedupMemory): void {
  const { observation, compiled, scene } = draft;
  const { obs_type: type } = observation;
  if (type !== 'message' && type !== 'world_data') return;
  const window = compiled.windowMs[scene];
  if (window <= 0 || isDistinct(observation) || isAgentGenerated(observation) || isReleased(observation)) return;
  const key = dedupKey(draft);
  draft.fingerprint = key;
  const first = memory.firstSeen(key);
  if (first === undefined || draft.now - first >= window) return;
  draft.duplicate = true;
  draft.tag('dedup', 'hit');
  draft.flag('DUPLICATE');
  draft.propose('drop', 'dedup_hit');
}

/**
 * Writes the entry once the outcome is known. A message refused for another reason, such as overload or emergency mode,
 * may be sent again immediately.
 */
export function rememberContent(draft: Draft, memory: DedupMemory): void {
  const key = draft.fingerprint;
  if (key === null) return;
  if (draft.duplicate) {
    memory.touch(key);
    return;
  }
  if (draft.action === 'drop' || draft.emergency) return;
  const { config, maxWindowMs } = draft.compiled;
  memory.remember(key, draft.now, config.dedup.max_entries, draft.now - maxWindowMs);
}

/** SHA-256 over session, scene, actor and content. Each part is length-prefixed, so that different parts never collide. */
function dedupKey(draft: Draft): string {
  const { observation, sessionKey, scene } = draft;
  const { payload } = observation;
  const actor = observation.actor?.actor_id ?? 'unknown';
  let text = part(sessionKey) + part(scene) + part(actor);
  if (observation.obs_type === 'world_data') {
    text += part(String(payload.schema_id)) + part(canonicalJson(payload.data ?? null));
  } else {
    text += part(typeof payload.text === 'string' ? payload.text.trim().toLowerCase() : '');
    if (Array.isArray(payload.attachments))
      for (const attachment of payload.attachments) text += part(digest(attachment));
    if (typeof payload.reply_to === 'string') text += `r${part(payload.reply_to)}`;
  }
  return hash('sha256', text, 'hex');
}

function digest(attachment: unknown): string {
  const { sha256, uri, size_bytes: size } = (attachment ?? {}) as Record<string, unknown>;
  return typeof sha256 === 'string' ? `h${sha256}` : `u${part(String(uri ?? ''))}${String(size ?? '')}`;
}

function part(text: string): string {
  return `${text.length}:${text}`;
}

const none = -1;

/**
 * When each content was first seen; bounded, least recently used evicted first. The order is a linked list over typed
 * arrays and not that of a Map: finding the oldest key of a Map walks over all keys deleted before it.
 */
export class DedupMemory {
  #slots = new Map<string, number>();
  #keys: string[] = [];
  #seen = new Float64Array(64);
  #newer = new Int32Array(64);
  #older = new Int32Array(64);
  #free: number[] = [];
  #newest = none;
  #oldest = none;

  get size(): number {
    return this.#slots.size;
  }

  /** Monotonic milliseconds; undefined when it was never seen or was evicted. */
  firstSeen(key: string): number | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    return this.#seen[slot];
  }

  /** Marks an entry as recently used. */
  touch(key: string): void {
    const slot = this.#slots.get(key);
    if (slot === undefined || slot === this.#newest) return;
    this.#unlink(slot);
    this.#link(slot);
  }

  /** @param horizon entries seen before this have expired; each insertion evicts up to two of them */
  remember(key: string, now: number, maxEntries: number, horizon: number): void {
    const known = this.#slots.get(key);
    if (known !== undefined) {
      this.#seen[known] = now;
      this.touch(key);
      return;
    }
    for (let step = 0; step < 2 && this.#oldest !== none && this.#at(this.#seen, this.#oldest) <= horizon; step += 1) {
      this.#evictOldest();
    }
    while (this.#slots.size >= maxEntries) this.#evictOldest();
    const slot = this.#free.pop() ?? this.#keys.length;
    if (slot >= this.#seen.length) this.#grow();
    this.#keys[slot] = key;
    this.#seen[slot] = now;
    this.#slots.set(key, slot);
    this.#link(slot);
  }

  #at(array: Float64Array | Int32Array, slot: number): number {
    return array[slot] ?? none;
  }

  #evictOldest(): void {
    const slot = this.#oldest;
    this.#slots.delete(this.#keys[slot] ?? '');
    this.#keys[slot] = '';
    this.#unlink(slot);
    this.#free.push(slot);
  }

  #link(slot: number): void {
    this.#older[slot] = this.#newest;
    this.#newer[slot] = none;
    if (this.#newest !== none) this.#newer[this.#newest] = slot;
    this.#newest = slot;
    if (this.#oldest === none) this.#oldest = slot;
  }

  #unlink(slot: number): void {
    const newer = this.#at(this.#newer, slot);
    const older = this.#at(this.#older, slot);
    if (newer === none) this.#newest = older;
    else this.#older[newer] = older;
    if (older === none) this.#oldest = newer;
    else this.#newer[older] = newer;
  }

  #grow(): void {
    const capacity = this.#seen.length * 2;
    const seen = new Float64Array(capacity);
    seen.set(this.#seen);
    this.#seen = seen;
    this.#newer = widened(this.#newer, capacity);
    this.#older = widened(this.#older, capacity);
  }
}

function widened(array: Int32Array, capacity: number): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(capacity);
  wider.set(array);
  return wider;
}
