import type { CallContext } from 'mortise/sdk';

export interface SocketMethodFacts {
  /** JSON Schema of the request's `params`; checked before the method runs. */
  readonly paramsSchema: Readonly<Record<string, unknown>>;
}

/** A method of the socket that a plugin contributes as `<plugin>.<name>`. It returns the `data` of the response. */
export interface SocketMethod extends SocketMethodFacts {
  handle(params: Readonly<Record<string, unknown>>, ctx: CallContext): Promise<Readonly<Record<string, unknown>>>;
}

declare module 'mortise/sdk' {
  interface ExtensionPoints {
    'socket-method': SocketMethod;
  }
  interface ExtensionPointFacts {
    'socket-method': SocketMethodFacts;
  }
}
