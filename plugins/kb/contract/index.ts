import type { KnowledgeBase } from './kb.js';

export * from './kb.js';

declare module 'mortise/sdk' {
  interface Services {
    kb: KnowledgeBase;
  }
}
