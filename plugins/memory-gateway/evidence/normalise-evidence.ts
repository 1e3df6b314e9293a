import { isBlankText } from 'mortise/sdk';

/** One piece of evidence, as it was given or made from a plain reference. */
export interface EvidenceItem {
  /** What is stored: the object as given, or `{uri, sha256: ''}` of a plain reference. */
  readonly stored: Readonly<Record<string, unknown>>;
  /** Null where the object has none. */
  readonly uri: string | null;
  /** Made from a plain reference, which carries no hash. */
  readonly isLegacy: boolean;
}

export type EvidenceSource = 'v2' | 'v1_mapped' | 'mixed' | 'none';

export interface Evidence {
  readonly items: readonly EvidenceItem[];
  readonly source: EvidenceSource;
  /** URIs of what was given, in order; null for nothing. */
  readonly refs: readonly string[] | null;
}

function uriOf(item: Readonly<Record<string, unknown>>): string | null {
  return typeof item.uri === 'string' && !isBlankText(item.uri) ? item.uri : null;
}

function sourceOf(objects: number, references: number): EvidenceSource {
  if (objects > 0) return references > 0 ? 'mixed' : 'v2';
  return references > 0 ? 'v1_mapped' : 'none';
}

/** Objects in order, then each plain reference that is not blank and not among them. */
export function normaliseEvidence(
  objects: readonly Readonly<Record<string, unknown>>[],
  references: readonly string[],
): Evidence {
  const items: EvidenceItem[] = objects.map((stored) => ({ stored, uri: uriOf(stored), isLegacy: false }));
  const known = new Set(items.map(({ uri }) => uri));
  for (const uri of references) {
    if (isBlankText(uri) || known.has(uri)) continue;
    known.add(uri);
    items.push({ stored: { uri, sha256: '' }, uri, isLegacy: true });
  }
  const refs = items.flatMap(({ uri }) => (uri === null ? [] : [uri]));
  return {
    items,
    source: sourceOf(objects.length, items.length - objects.length),
    refs: refs.length === 0 ? null : refs,
  };
}
