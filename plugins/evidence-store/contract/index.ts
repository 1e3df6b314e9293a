import type { ArtifactStore } from './artifacts.js';

export * from './artifacts.js';
export * from './evidence-uri.js';

declare module 'mortise/sdk' {
  interface Services {
    artifacts: ArtifactStore;
  }
}
