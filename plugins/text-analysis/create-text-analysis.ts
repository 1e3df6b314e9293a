import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { analyse } from './analyse.js';
import { analyseQuery } from './analyse-query.js';
import { headingRanges } from './heading-ranges.js';
import { containsPhrase, normalise } from './normalise.js';
import { isStopWord } from './stop-words.js';

/** Raised with every change that gives any text other tokens, so that indexes are rebuilt. */
const REVISION = 1;

/** The service `text-analysis`. */
export function createTextAnalysis(): TextAnalysis {
  return {
    version: `${REVISION}-icu${process.versions.icu ?? '0'}-unicode${process.versions.unicode ?? '0'}`,
    analyse,
    analyseQuery,
    isStopWord,
    normalise,
    containsPhrase,
    headingRanges,
  };
}
