import type { SessionsService } from './sessions.js';

export * from './chat-spec.js';
export * from './idempotency.js';
export * from './session-key.js';
export * from './session-names.js';
export * from './sessions.js';

declare module 'mortise/sdk' {
  interface Services {
    sessions: SessionsService;
  }
}
