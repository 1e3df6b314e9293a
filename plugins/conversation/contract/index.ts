import type { ConversationService } from './conversation.js';
import type { Egress, EgressFacts } from './egress.js';
import type { InputAdapter, InputAdapterFacts } from './input-adapter.js';
import type { ObservationHandler, ObservationHandlerFacts } from './observation-handler.js';

export * from './conversation.js';
export * from './egress.js';
export * from './input-adapter.js';
export * from './observation-handler.js';
export * from './publish-result.js';

declare module 'mortise/sdk' {
  interface Services {
    conversation: ConversationService;
  }
  interface ExtensionPoints {
    egress: Egress;
    'input-adapter': InputAdapter;
    'observation-handler': ObservationHandler;
  }
  interface ExtensionPointFacts {
    egress: EgressFacts;
    'input-adapter': InputAdapterFacts;
    'observation-handler': ObservationHandlerFacts;
  }
}
