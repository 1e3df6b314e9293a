import type { ConversationService } from './conversation.js';
import type {
  Egress,
  EgressFacts,
  InputAdapter,
  InputAdapterFacts,
  ObservationHandler,
  ObservationHandlerFacts,
} from './extension-points.js';

export * from './conversation.js';
export * from './conversation.js';
export * from './extension-points.js';
export * from './observation-kind.js';

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
