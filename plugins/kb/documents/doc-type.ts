import picomatch from 'picomatch';

/** A kind of document, found by the path, with its weight in the score. */
export interface DocTypeRule {
  readonly name: string;
  /** Globs on the lower-case path, relative to the repo. */
  readonly patterns: readonly string[];
  readonly weight: number;
}

/** The type of documents that no rule matches. */
const defaultDocType = 'default';

/** Finds the type of a document by its path; the first rule that matches decides. */
export function createDocTypes(rules: readonly DocTypeRule[]): {
  typeOf(path: string): string;
  isKnown(name: string): boolean;
} {
  const matchers = rules.map(({ name, patterns }) => ({ name, matches: picomatch([...patterns], { dot: true }) }));
  return {
    typeOf: (path) => {
      const lower = path.toLowerCase();
      return matchers.find(({ matches }) => matches(lower))?.name ?? defaultDocType;
    },
    isKnown: (name) => name === defaultDocType || rules.some((rule) => rule.name === name),
  };
}

/** The README at the root of a repo is its front page, unlike the index of a folder. */
const frontPage = /^readme(?:\.[^/.]+)?$/i;

/** The factor by which the score of a document is multiplied. */
export function documentBoost(rules: readonly DocTypeRule[], docType: string, path: string): number {
  if (docType === 'index' && frontPage.test(path)) return 1;
  return rules.find(({ name }) => name === docType)?.weight ?? 1;
}
