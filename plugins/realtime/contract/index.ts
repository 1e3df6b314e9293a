import type { SocketMethod, SocketMethodFacts } from './socket-method.js';

export * from './socket-method.js';

declare module 'mortise/sdk' {
  interface ExtensionPoints {
    'socket-method': SocketMethod;
  }
  interface ExtensionPointFacts {
    'socket-method': SocketMethodFacts;
  }
}
