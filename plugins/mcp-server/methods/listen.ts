import type { Features, Method } from '../method.js';
import { type SubscriptionFilter, taggedText } from '../subscriptions.js';
import { declaresTasks, missingCapability } from '../wire/capabilities.js';
import { RpcFailure } from '../wire/failure.js';
import { isObject, type JsonObject, member } from '../wire/json.js';
import { metaNames, tasksExtension } from '../wire/names.js';

/** URIs or task ids of one subscription. */
const mostNames = 1_000;

export const listen: Method = {
  eras: ['stateless'],
  async run({ server, request, params, caller, outbound, capabilities }) {
    const asked = member(params, 'notifications');
    if (!isObject(asked)) {
      throw new RpcFailure(
        asked === undefined ? 'MISSING_REQUIRED_PARAM' : 'INVALID_PARAM_TYPE',
        'Parameter "notifications" must be an object.',
        { details: { path: '/notifications' } },
      );
    }
    if (member(asked, 'taskIds') !== undefined && !declaresTasks(capabilities ?? {})) {
      throw missingCapability(['extensions', tasksExtension]);
    }
    const filter = honoured(asked, server.features());
    outbound.send(taggedText('notifications/subscriptions/acknowledged', { notifications: filter }, request.id));
    await new Promise<void>((resolve) => {
      const remove = server.subscriptions.add({
        id: request.id,
        principal: caller.principal.id,
        filter,
        send: outbound.send,
        end: () => {
          remove();
          resolve();
        },
      });
      const left = () => {
        remove();
        resolve();
      };
      if (caller.signal.aborted) left();
      else caller.signal.addEventListener('abort', left, { once: true });
    });
    return { members: '', meta: { [metaNames.subscriptionId]: request.id } };
  },
};

/** The part of a filter that something here can serve. */
function honoured(asked: JsonObject, features: Features): SubscriptionFilter {
  const wants = (name: string) => member(asked, name) === true;
  const uris = names(asked, 'resourceSubscriptions');
  const taskIds = names(asked, 'taskIds');
  return {
    ...(wants('toolsListChanged') && { toolsListChanged: true }),
    ...(wants('promptsListChanged') && features.prompts && { promptsListChanged: true }),
    ...(wants('resourcesListChanged') && features.resources && { resourcesListChanged: true }),
    ...(uris.length > 0 && features.subscriptions && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && features.tasks && { taskIds }),
  };
}

function names(asked: JsonObject, name: string): readonly string[] {
  const value = member(asked, name);
  if (value === undefined) return [];
  if (Array.isArray(value) && value.length <= mostNames && value.every((one) => typeof one === 'string')) return value;
  throw new RpcFailure('INVALID_PARAM_TYPE', `Parameter "notifications.${name}" must be a list of strings.`, {
    details: { path: `/notifications/${name}` },
  });
}
