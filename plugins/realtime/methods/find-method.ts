import { callOptions, createContributionCache, type Points, type SchemasService, type ValueSchema } from 'mortise/sdk';
import { invalidParams, wireError } from '../errors.js';
import type { Method, RealtimeDeps } from '../method.js';
import { chatCancel } from './chat-cancel.js';
import { chatHistory } from './chat-history.js';
import { chatSend } from './chat-send.js';
import { sessionList, sessionUnwatch, sessionWatch } from './sessions.js';

const methods: Readonly<Record<string, Method>> = {
  'chat.send': chatSend,
  'chat.history': chatHistory,
  'chat.cancel': chatCancel,
  'session.list': sessionList,
  'session.watch': sessionWatch,
  'session.unwatch': sessionUnwatch,
};

/** The method of a name: one of the socket's own, else one that a plugin contributed to `socket-method`. */
export function findMethod(name: string): Method {
  return Object.hasOwn(methods, name) ? (methods[name] ?? pluginMethod(name)) : pluginMethod(name);
}

/** Names of the socket's own methods. */
const reserved = /^(?:chat\.|session\.|auth)/;

/** Methods that plugins contribute. */
export function pluginMethods(points: Points, schemas: SchemasService): RealtimeDeps['pluginMethods'] {
  return createContributionCache(
    points,
    'socket-method',
    (contributions) =>
      new Map(
        contributions.flatMap(({ key, active, facts }) => {
          let schema: ValueSchema | undefined;
          const compiled = (): ValueSchema => {
            schema ??= schemas.compile(facts.paramsSchema, { name: `socket method ${key}` });
            return schema;
          };
          return active && !reserved.test(key) ? [[key, compiled] as const] : [];
        }),
      ),
  );
}

function pluginMethod(name: string): Method {
  return async (params, { ctx }, { points, pluginMethods: known }) => {
    const schema = known.current.get(name)?.();
    if (!schema) {
      throw wireError('METHOD_NOT_FOUND', `Unknown method: ${name}`, {
        known: [...Object.keys(methods), ...known.current.keys()],
      });
    }
    return points.call(
      'socket-method',
      name,
      (method, own) => {
        // Within the call, so that a slow pattern of the schema is attributed to its plugin.
        const [issue] = schema.check(params);
        if (issue) throw invalidParams(issue.path || 'params', issue.message);
        return method.handle(params, own);
      },
      callOptions(ctx),
    );
  };
}
