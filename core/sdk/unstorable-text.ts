/** NUL and lone surrogates in JSON text, where they are escapes: after an even number of backslashes. */
const UNSTORABLE_ESCAPE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/** Whether a text holds NUL or lone surrogates: PostgreSQL cannot store them, so no hash of them would hold. */
export function isUnstorableText(text: string): boolean {
  return text.includes('\0') || !text.isWellFormed();
}

/** Whether JSON text, as `JSON.stringify` writes it, holds such texts. */
export function isUnstorableJson(json: string): boolean {
  return json.includes('\\u') && UNSTORABLE_ESCAPE.test(json);
}

const BLANK = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Whether a text shows nothing: empty, or of white space and characters that are invisible by themselves. */
export function isBlankText(text: string): boolean {
  return BLANK.test(text);
}
