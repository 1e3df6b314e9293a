import type { Draft } from '../draft.js';
import { readLimit } from './scene.js';

/** `text_len` stops counting here. */
const countLimit = 10_000;

/** A character that makes a word longer. Scripts without spaces between words do not: `error了` holds `error`. */
const wordCharacter = /^(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}])[\p{L}\p{N}_]$/u;

/** Wording that tries to give the agent orders in the place of its own; the first word is looked for before the rest. */
const injections: readonly (readonly [needle: string, pattern: RegExp])[] = [
  ['ignore', /\bignore\b.{0,40}\b(?:previous|prior|above|earlier)\b.{0,40}\b(?:instructions?|prompts?|rules?)\b/],
  ['disregard', /\bdisregard\b.{0,40}\b(?:previous|prior|above|earlier|your)\b/],
  ['system prompt', /\b(?:reveal|print|show|repeat|ignore|override)\b.{0,40}\bsystem prompt\b/],
  ['<|', /<\|(?:im_start|im_end|system|endoftext)\|>/],
  ['忽略', /忽略.{0,12}(?:指令|提示|规则)/],
];

/** What the later stages know of a text. Texts longer than {@link readLimit} are judged by their beginning. */
export function feature(draft: Draft): void {
  const { payload, obs_type: type } = draft.observation;
  if (type !== 'message' || typeof payload.text !== 'string') return;
  const text = payload.text.trim();
  draft.text = text;
  draft.lower = text.toLowerCase();
  draft.textLength = codePoints(text);
  const head = draft.lower.length > readLimit ? draft.lower.slice(0, readLimit) : draft.lower;
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

/** Features as a decision shows them. */
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
    // The second half of a pair belongs to the first one.
    if (unit >= 0xdc00 && unit <= 0xdfff && index > 0 && isHighSurrogate(text.charCodeAt(index - 1))) continue;
    count += 1;
  }
  return count;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Whether a word stands in a text on its own; `@` begins a word only at the start or after white space. */
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
