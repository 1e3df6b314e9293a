import { hash } from 'node:crypto';
import { canonicalJson } from 'mortise/sdk';

/** SHA-256 of a text's UTF-8 bytes, 64 lower-case hex digits. */
export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Number of code points. */
export function codePoints(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xdc00 && unit <= 0xdfff) pairs += 1;
  }
  return text.length - pairs;
}

/** The members that distinguish memories with the same text. */
interface MetaIdentity {
  readonly kind: string | null;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly evidence: readonly Readonly<Record<string, unknown>>[];
  readonly itemId: number | null;
  /** Makes every memory distinct, for projects that keep duplicates. */
  readonly salt?: string;
}

/** The hash of kind, meta, evidence and item. Absent, null, `{}` and `[]` are equivalent. */
export function metaSha(identity: MetaIdentity): string {
  const { kind, meta, evidence, itemId, salt } = identity;
  return sha256(
    canonicalJson({
      ...(kind === null ? {} : { kind }),
      ...(Object.keys(meta).length === 0 ? {} : { meta_json: meta }),
      ...(evidence.length === 0 ? {} : { evidence }),
      ...(itemId === null ? {} : { item_id: itemId }),
      ...(salt === undefined ? {} : { salt }),
    }),
  );
}
