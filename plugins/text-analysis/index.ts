import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import type { PluginDefinition } from 'mortise/sdk';
import { analyse, analyseQuery, containsPhrase, normalise } from './analyse.js';
import { headingRanges } from './heading-ranges.js';
import { isStopWord } from './stop-words.js';

/** The service `text-analysis`: one analyser for every index of the product. */
export default function textAnalysis(): PluginDefinition {
  return {
    key: 'text-analysis',
    register(host) {
      host.provide('text-analysis', createTextAnalysis());
    },
  };
}

/** Incremented with every change of the tokens of any text, so that indexes are rebuilt. */
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
