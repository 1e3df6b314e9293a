import { type Contribution, callOptions, isCodedError } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';
import { interactive } from '../interaction.js';
import { emptyResult, type Method, type MethodCall } from '../method.js';
import { offsetOf, page } from '../wire/cursor.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { membersText } from '../wire/json.js';
import { matchesTemplate } from '../wire/uri-template.js';
import { listCaching } from './caching.js';
import { requiredText } from './prompts.js';

type Resource = Contribution<'mcp-resource'>;

function resourcesOf({ server }: MethodCall): readonly Resource[] {
  return server.host.points.list('mcp-resource').filter(({ active }) => active);
}

/** A resource of its own comes before a template that also fits. */
export function resourceAt(resources: readonly Resource[], uri: string): Resource | undefined {
  return (
    resources.find(({ facts }) => facts.uri === uri) ??
    resources.find(({ facts }) => facts.uriTemplate !== undefined && matchesTemplate(facts.uriTemplate, uri))
  );
}

function described({ facts }: Resource) {
  const { uri, uriTemplate, name, title, description, mimeType } = facts;
  return { uri, uriTemplate, name, title, description, mimeType };
}

function listing(member: 'resources' | 'resourceTemplates', has: 'uri' | 'uriTemplate'): Method {
  return {
    eras: ['session', 'stateless'],
    needs: 'resources',
    run(call) {
      const all = resourcesOf(call).filter(({ facts }) => facts[has] !== undefined);
      const { items, next } = page(all, offsetOf(call.params, all.length));
      const members = membersText({ [member]: items.map(described), nextCursor: next });
      return { members: `${members}${listCaching(call, 0)}` };
    },
  };
}

export const listResources = listing('resources', 'uri');
export const listResourceTemplates = listing('resourceTemplates', 'uriTemplate');

export const readResource: Method = {
  eras: ['session', 'stateless'],
  needs: 'resources',
  run(call) {
    const { server, params, caller } = call;
    const uri = requiredText(params, 'uri');
    const resource = resourceAt(resourcesOf(call), uri);
    if (!resource) throw notFound(uri);
    return interactive(call, { uri }, async (client) => {
      try {
        const contents = await server.host.points.call(
          'mcp-resource',
          resource.key,
          (value, ctx) => value.read(uri, new ClientContext(ctx, client)),
          callOptions(caller),
        );
        return { members: `${membersText({ contents })}${listCaching(call, 0)}` };
      } catch (error) {
        if (isCodedError(error) && error.code === 'resource_not_found') throw notFound(uri);
        throw error;
      }
    });
  },
};

function subscription(change: (uris: readonly string[], uri: string) => readonly string[]): Method {
  return {
    eras: ['session'],
    needs: 'subscriptions',
    async run(call) {
      const uri = requiredText(call.params, 'uri');
      const resource = resourceAt(resourcesOf(call), uri);
      if (!resource?.facts.subscribe) throw notFound(uri);
      if (call.session)
        await call.server.sessions.setSubscriptions(call.session, change(call.session.subscriptions, uri));
      return emptyResult;
    },
  };
}

export const subscribe = subscription((uris, uri) => [...new Set([...uris, uri])].slice(-mostSubscriptions));
export const unsubscribe = subscription((uris, uri) => uris.filter((one) => one !== uri));

/** Of one session; the oldest make room. */
const mostSubscriptions = 200;

function notFound(uri: string): RpcFailure {
  return new RpcFailure('INVALID_PARAM_VALUE', 'There is no resource at this URI.', {
    details: { path: '/uri' },
    data: { uri: shown(uri) },
  });
}
