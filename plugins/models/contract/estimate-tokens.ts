/**
 * Estimates the tokens of a text without a model's tokenizer: one for each Han, kana or Hangul character, and one for
 * every four characters of each other run between white space, rounded up. Never more than the text's length.
 *
 * One pass over the code units: a long chat is measured with each turn, and regular expressions took four times as long.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let run = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const isWideUnit = unit >= 0x3040 && isWide(unit);
    if (!isWideUnit && !isSpace(unit)) {
      // A low surrogate belongs to the character before.
      if (unit < 0xdc00 || unit > 0xdfff || !isHighSurrogate(text.charCodeAt(at - 1))) run += 1;
      continue;
    }
    tokens += Math.ceil(run / 4) + (isWideUnit ? 1 : 0);
    run = 0;
  }
  return tokens + Math.ceil(run / 4);
}

/** Scripts with about one token per character. */
function isWide(unit: number): boolean {
  return (
    unit <= 0x30ff ||
    (unit >= 0x3400 && unit <= 0x4dbf) ||
    (unit >= 0x4e00 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7af) ||
    (unit >= 0xf900 && unit <= 0xfaff)
  );
}

/** The white space of regular expressions. */
function isSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0x2000) return unit === 0xa0 || unit === 0x1680;
  if (unit <= 0x205f) return unit <= 0x200a || unit === 0x2028 || unit === 0x2029 || unit === 0x202f || unit === 0x205f;
  return unit === 0x3000 || unit === 0xfeff;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
