import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

export interface SocketMethodFacts {
  readonly paramsSchema: Readonly<Record<string, unknown>>;
}

export interface SocketMethod extends SocketMethodFacts {
  handle(params: Readonly<Record<string, unknown>>, ctx: CallContext): Promise<Readonly<Record<string, unknown>>>;
}

export const socketMethodPoint: ExtensionPointDeclaration = {
  name: 'socket-method',
  summary: 'Methods of the realtime socket: `<plugin>.<name>`.',
  dispatch: 'selected',
  keys: 'dotted',
  factsSchema: { type: 'object', required: ['paramsSchema'], properties: { paramsSchema: { type: 'object' } } },
  functions: ['handle'],
  timeoutMs: 30_000,
  failure: 'an error frame; other requests of the socket go on',
};
