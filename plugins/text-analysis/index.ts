import type { PluginDefinition } from 'mortise/sdk';
import { createTextAnalysis } from './create-text-analysis.js';

/** Provides the service `text-analysis`: one analyser for every index of the product. */
export default function textAnalysis(): PluginDefinition {
  return {
    key: 'text-analysis',
    register(host) {
      host.provide('text-analysis', createTextAnalysis());
    },
  };
}
