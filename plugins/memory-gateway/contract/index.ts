import type { MemoryService } from './memory.js';
import type { MemoryPolicy, MemoryPolicyFacts } from './memory-policy.js';

export * from './content-guard-policy.js';
export * from './memory.js';
export * from './memory-policy.js';
export * from './memory-policy-checks.js';

declare module 'mortise/sdk' {
  interface Services {
    memory: MemoryService;
  }
  interface ExtensionPoints {
    'memory-policy': MemoryPolicy;
  }
  interface ExtensionPointFacts {
    'memory-policy': MemoryPolicyFacts;
  }
}
