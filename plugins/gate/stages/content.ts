import type { Draft } from '../draft.js';

// The stages that look at content, in the order in which they run.

/** Characters of a text that the stages examine: the work for one observation is bounded. */
const readLimit = 8_192;

/** An `@` at the start or after white space, then a letter, a digit or `_`: an e-mail address is not a mention. */
const mention = /(?:^|\s)@[\p{L}\p{N}_]/u;

/** Sets the scene, which selects the thresholds and weights of all later stages. */
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

/** Drops blank messages, and external input under overload. */
export function hardBypass(draft: Draft): void {
  const { obs_type: type, quality_flags: flags } = draft.observation;
  if (type !== 'message' && type !== 'world_data') return;
  if (type === 'message' && flags.length > 0 && flags.includes('EMPTY_CONTENT')) draft.propose('drop', 'empty_content');
  if (draft.overload) draft.propose('drop', 'system_overload');
}

/** `text_len` stops counting here. */
const countLimit = 10_000;

/** A character that continues a word. Scripts without spaces do not: `error了` contains the word `error`. */
const wordCharacter = /^(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}_]$/u;

/** Wording of prompt injections. The needle is searched before the pattern runs: most texts contain none. */
const injections: readonly (readonly [needle: string, pattern: RegExp])[] = [
  ['ignore', /\bignore\b.{0,40}\b(?:previous|prior|above|earlier)\b.{0,40}\b(?:instructions?|prompts?|rules?)\b/],
  ['disregard', /\bdisregard\b.{0,40}\b(?:previous|prior|above|earlier|your)\b/],
  ['system prompt', /\b(?:reveal|print|show|repeat|ignore|override)\b.{0,40}\bsystem prompt\b/],
  ['<|', /<\|(?:im_start|im_end|system|endoftext)\|>/],
  ['忽略', /忽略.{0,12}(?:指令|提示|规则)/],
];

/** Computes the text features of a message. Only the first {@link readLimit} characters of a text are examined. */
export function feature(draft: Draft): void {
  const { payload, obs_type: type } = draft.observation;
  if (type !== 'message' || typeof payload.text !== 'string') return;
  const text = payload.text.trim();
  draft.textLength = codePoints(text);
  const head = (text.length > readLimit ? text.slice(0, readLimit) : text).toLowerCase();
  draft.hasQuestion = head.includes('?') || head.includes('？') || head.includes('؟');
  for (const { text: keyword, weight, anywhere } of draft.compiled.keywords) {
    if (anywhere ? head.includes(keyword) : hasWord(head, keyword)) {
      draft.keywordScore += weight;
      draft.changes?.push({ keyword });
    }
  }
  if (head.includes('@')) {
    draft.hasBotMention = draft.compiled.botMentions.some((mention) => hasWord(head, mention));
  }
  for (const [needle, pattern] of injections) {
    if (!head.includes(needle) || !pattern.test(head)) continue;
    draft.flag('SUSPECT_INJECTION');
    draft.tag('injection', 'suspected');
    break;
  }
  draft.changes?.push({
    text_len: draft.textLength,
    has_question: draft.hasQuestion,
    has_bot_mention: draft.hasBotMention,
  });
}

/** The maximum that the length of a text adds to the score, and its weight per character. */
const lengthShare = { most: 0.2, perCharacter: 1 / 200 };

/** Adds the scene's base and the configured weights of the features to the score. */
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

/** Features as an explanation shows them. */
export function shownFeatures(draft: Draft): Readonly<Record<string, unknown>> {
  const { observation } = draft;
  return {
    text_len: draft.textLength,
    has_question: draft.hasQuestion,
    has_bot_mention: draft.hasBotMention,
    obs_type: observation.obs_type,
    source_name: observation.source_name,
    actor_id: observation.actor?.actor_id ?? null,
    flags: observation.quality_flags,
    alert_severity: observation.obs_type === 'alert' ? observation.payload.severity : null,
    ...Object.fromEntries(draft.extraFeatures ?? []),
  };
}

function codePoints(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length && count < countLimit; index += 1) {
    const unit = text.charCodeAt(index);
    // The second half of a surrogate pair.
    if (unit >= 0xdc00 && unit <= 0xdfff && index > 0 && isHighSurrogate(text.charCodeAt(index - 1))) continue;
    count += 1;
  }
  return count;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Whether a text contains a whole word; `@` begins a word only at the start or after white space. */
function hasWord(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    if (opensAt(text, at, word) && (end >= text.length || !isWordCharacter(text, end))) return true;
  }
  return false;
}

function opensAt(text: string, at: number, word: string): boolean {
  if (at === 0) return true;
  if (word.startsWith('@')) return /\s/.test(text.charAt(at - 1));
  const half = at > 1 && isHighSurrogate(text.charCodeAt(at - 2));
  return !isWordCharacter(text, half ? at - 2 : at - 1);
}

function isWordCharacter(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 128) {
    return (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57) || unit === 95 || (unit >= 65 && unit <= 90);
  }
  return wordCharacter.test(String.fromCodePoint(text.codePointAt(at) ?? 0));
}
