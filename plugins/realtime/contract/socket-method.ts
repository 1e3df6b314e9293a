import type { CallContext } from 'mortise/sdk';

export interface SocketMethodFacts {
  readonly paramsSchema: Readonly<Record<string, unknown>>;
}

export interface SocketMethod extends SocketMethodFacts {
  handle(params: Readonly<Record<string, unknown>>, ctx: CallContext): Promise<Readonly<Record<string, unknown>>>;
}
