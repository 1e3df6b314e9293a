import type { Draft } from '../draft.js';

/** How much of a text is looked at: the work for one observation is bounded. */
export const readLimit = 8_192;

/** An `@` at the start or after white space, then a letter, a digit or `_`: an e-mail address is no mention. */
const mention = /(?:^|\s)@[\p{L}\p{N}_]/u;

/** What kind of situation this is; everything later depends on it. */
export function scene(draft: Draft): void {
  const { obs_type: type, payload, metadata } = draft.observation;
  if (type === 'message') {
    const { text, mentions } = payload;
    const head = typeof text === 'string' ? (text.length > readLimit ? text.slice(0, readLimit) : text) : '';
    const group =
      metadata.chat_type === 'group' ||
      (Array.isArray(mentions) && mentions.length > 0) ||
      (head.includes('@') && mention.test(head));
    draft.scene = group ? 'group' : 'dialogue';
  } else if (type === 'world_data') {
    const { schema_id: schema } = payload;
    draft.scene = typeof schema === 'string' && schema.startsWith('tool_call') ? 'tool_call' : 'tool_result';
  } else draft.scene = type === 'alert' ? 'alert' : 'system';
  draft.changes?.push({ scene: draft.scene });
}
