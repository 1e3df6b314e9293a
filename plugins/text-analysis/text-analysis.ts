import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { analyse, analyseQuery, containsPhrase, normalise } from './analyse.js';
import { headingRanges } from './heading-ranges.js';
import { isStopWord } from './stop-words.js';

/** Incremented with every change of the tokens of any text, so that indexes are rebuilt. */
const revision = 1;

/** The service `text-analysis`. Worker threads import it from `module`, under this name. */
export const textAnalysis: TextAnalysis = {
  version: `${revision}-icu${process.versions.icu ?? '0'}-unicode${process.versions.unicode ?? '0'}`,
  module: import.meta.url,
  analyse,
  analyseQuery,
  isStopWord,
  normalise,
  containsPhrase,
  headingRanges,
};
