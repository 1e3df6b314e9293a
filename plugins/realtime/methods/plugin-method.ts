import type { SocketMethod, SocketMethodFacts } from 'mortise/contracts/realtime';
import type { CallContext, ValueSchema } from 'mortise/sdk';
import { invalidParams, wireError } from '../errors.js';
import type { Method, RealtimeParts } from '../method.js';

/** Names that belong to the socket itself. */
const reserved = /^(?:chat\.|session\.|auth)/;

/** Compiled once per schema object; a plugin that comes again brings a new one. */
const compiled = new WeakMap<object, ValueSchema>();

/** A method that a plugin contributed to the point `socket-method`. */
export function pluginMethod(name: string): Method {
  return async (params, { ctx }, parts) => {
    const found = reserved.test(name) ? undefined : parts.points.list('socket-method').find(({ key }) => key === name);
    if (!found?.active) throw wireError('METHOD_NOT_FOUND', `Unknown method: ${name}`);
    const schema = schemaOf(name, found.facts, parts);
    const call = (method: SocketMethod, own: CallContext): ReturnType<SocketMethod['handle']> => {
      // Within the call: a pattern of the schema that takes for ever to match is on the account of its plugin.
      const [issue] = schema.check(params);
      if (issue) throw invalidParams(issue.path || 'params', issue.message);
      return method.handle(params, own);
    };
    return parts.points.call('socket-method', name, call, {
      signal: ctx.signal,
      principal: ctx.principal,
      requestId: ctx.requestId,
      correlationId: ctx.correlationId,
      trace: ctx.trace,
    });
  };
}

function schemaOf(name: string, { paramsSchema }: SocketMethodFacts, { schemas }: RealtimeParts): ValueSchema {
  const known = compiled.get(paramsSchema);
  if (known) return known;
  const made = schemas.compile(paramsSchema, { name: `socket method ${name}` });
  compiled.set(paramsSchema, made);
  return made;
}
