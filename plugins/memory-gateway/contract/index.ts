import type { MemoryService } from './memory.js';
import type { MemoryPolicy, MemoryPolicyFacts } from './policy.js';

export * from './may-use-space.js';
export * from './memory.js';
export * from './policy.js';

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
