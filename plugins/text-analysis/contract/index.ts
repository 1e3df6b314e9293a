import type { Embedder, EmbedderFacts } from './embedder.js';
import type { TextAnalysis } from './text-analysis.js';

export * from './embedder.js';
export * from './scoring.js';
export * from './text-analysis.js';

declare module 'mortise/sdk' {
  interface Services {
    'text-analysis': TextAnalysis;
  }
  interface ExtensionPoints {
    embedder: Embedder;
  }
  interface ExtensionPointFacts {
    embedder: EmbedderFacts;
  }
}
