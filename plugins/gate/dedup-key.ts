import { hash } from 'node:crypto';
import { canonicalJson } from 'mortise/sdk';
import type { Draft } from './draft.js';

/**
 * SHA-256 over who says what where: session, scene, actor and content. Every part carries its length, so that no two
 * lists of parts read alike.
 */
export function dedupKey(draft: Draft): string {
  const { observation, sessionKey, scene } = draft;
  const { payload } = observation;
  const actor = observation.actor?.actor_id ?? 'unknown';
  let text = part(sessionKey) + part(scene) + part(actor);
  if (observation.obs_type === 'world_data') {
    text += part(String(payload.schema_id)) + part(canonicalJson(payload.data ?? null));
  } else {
    text += part(
      draft.lower === '' && typeof payload.text === 'string' ? payload.text.trim().toLowerCase() : draft.lower,
    );
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
