import type { Draft } from '../draft.js';

/** How much a text's length adds, at most, and the length that gives it. */
const lengthShare = { most: 0.2, perCharacter: 1 / 200 };

/** How much an observation wants attention. The weights are those of the configuration. */
export function scoring(draft: Draft): void {
  const { observation, scene, compiled } = draft;
  const { scoring: weights } = compiled.config;
  let score = weights.base[scene];
  if (scene === 'dialogue') {
    if (draft.hasQuestion) score += weights.question;
    if (draft.textLength >= weights.long_text_chars) score += weights.long_text;
    score += draft.keywordScore;
  } else if (scene === 'group') {
    if (draft.hasBotMention) score += weights.bot_mention;
    const actor = observation.actor?.actor_id;
    if (actor !== undefined && compiled.actorWhitelist.has(actor)) score += weights.whitelist;
  }
  if (observation.obs_type === 'message') {
    score += Math.min(draft.textLength * lengthShare.perCharacter, lengthShare.most);
  }
  draft.rawScore += score;
  draft.changes?.push({ score });
}
