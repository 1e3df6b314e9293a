import type { PluginDefinition } from 'mortise/sdk';
import { textAnalysis } from './text-analysis.js';

/** The service `text-analysis`: one analyser for every index of the product. */
export default function textAnalysisPlugin(): PluginDefinition {
  return {
    key: 'text-analysis',
    register(host) {
      host.provide('text-analysis', textAnalysis);
    },
  };
}
