import type { JsonObject } from 'mortise/sdk';
import type { Features } from '../features.js';
import type { Method } from '../method.js';
import { type SubscriptionFilter, taggedText } from '../subscriptions.js';
import { requireCapability, tasksCapability } from '../wire/capabilities.js';
import { RpcFailure } from '../wire/failure.js';
import { member, requiredObject } from '../wire/params.js';
import { metaNames } from '../wire/protocol.js';

/** URIs or task ids of one subscription. */
const maxNames = 1_000;

export const listen: Method = {
  modes: ['stateless'],
  async run({ server, request, params, caller, outbound, capabilities }) {
    const requested = requiredObject(params, 'notifications');
    if (member(requested, 'taskIds') !== undefined) requireCapability(capabilities, tasksCapability);
    const filter = honoured(requested, server.features());
    outbound.send(taggedText('notifications/subscriptions/acknowledged', { notifications: filter }, request.id));
    await new Promise<void>((resolve) => {
      const end = () => {
        remove();
        resolve();
      };
      const remove = server.subscriptions.add({
        id: request.id,
        principal: caller.principal.id,
        filter,
        send: outbound.send,
        end,
      });
      if (caller.signal.aborted) end();
      else caller.signal.addEventListener('abort', end, { once: true });
    });
    return { members: '', meta: { [metaNames.subscriptionId]: request.id } };
  },
};

/** The part of a filter that current contributions can serve. */
function honoured(requested: JsonObject, features: Features): SubscriptionFilter {
  const wants = (name: string) => member(requested, name) === true;
  const uris = names(requested, 'resourceSubscriptions');
  const taskIds = names(requested, 'taskIds');
  return {
    ...(wants('toolsListChanged') && { toolsListChanged: true }),
    ...(wants('promptsListChanged') && features.prompts && { promptsListChanged: true }),
    ...(wants('resourcesListChanged') && features.resources && { resourcesListChanged: true }),
    ...(uris.length > 0 && features.subscriptions && { resourceSubscriptions: uris }),
    ...(taskIds.length > 0 && features.tasks && { taskIds }),
  };
}

function names(requested: JsonObject, name: string): readonly string[] {
  const value = member(requested, name);
  if (value === undefined) return [];
  if (Array.isArray(value) && value.length <= maxNames && value.every((one) => typeof one === 'string')) return value;
  throw new RpcFailure('INVALID_PARAM_TYPE', `Parameter "notifications.${name}" must be a list of strings.`, {
    details: { path: `/notifications/${name}` },
  });
}
