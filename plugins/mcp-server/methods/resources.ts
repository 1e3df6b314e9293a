import { type Contribution, callOptions, isCodedError } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';
import { interactive } from '../input-rounds.js';
import { cachingMembers, emptyResult, type Method, type MethodCall } from '../method.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { membersText } from '../wire/message.js';
import { offsetOf, page, requiredText } from '../wire/params.js';

type Resource = Contribution<'mcp-resource'>;

function resourcesOf({ server }: MethodCall): readonly Resource[] {
  return server.host.points.list('mcp-resource').filter(({ active }) => active);
}

/** A resource with exactly this URI wins over a template that matches it. */
function resourceAt(resources: readonly Resource[], uri: string): Resource | undefined {
  return (
    resources.find(({ facts }) => facts.uri === uri) ??
    resources.find(({ facts }) => facts.uriTemplate !== undefined && matchesTemplate(facts.uriTemplate, uri))
  );
}

/** Whether a URI matches a template of RFC 6570 level 1 or 2: `{name}` matches a segment, `{+name}` any text. */
export function matchesTemplate(template: string, uri: string): boolean {
  const pieces = template.split(/(\{\+?[A-Za-z0-9_]+\})/);
  const pattern = pieces.map((piece) => {
    if (piece.startsWith('{+')) return '.+';
    if (piece.startsWith('{')) return '[^/?#]+';
    return piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${pattern.join('')}$`).test(uri);
}

function described({ facts }: Resource) {
  const { uri, uriTemplate, name, title, description, mimeType } = facts;
  return { uri, uriTemplate, name, title, description, mimeType };
}

function listing(member: 'resources' | 'resourceTemplates', has: 'uri' | 'uriTemplate'): Method {
  return {
    modes: ['session', 'stateless'],
    needs: 'resources',
    run(call) {
      const all = resourcesOf(call).filter(({ facts }) => facts[has] !== undefined);
      const { items, next } = page(all, offsetOf(call.params, all.length));
      const members = membersText({ [member]: items.map(described), nextCursor: next });
      return { members: `${members}${cachingMembers(call, 0)}` };
    },
  };
}

export const listResources = listing('resources', 'uri');
export const listResourceTemplates = listing('resourceTemplates', 'uriTemplate');

export const readResource: Method = {
  modes: ['session', 'stateless'],
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
        return { members: `${membersText({ contents })}${cachingMembers(call, 0)}` };
      } catch (error) {
        if (isCodedError(error) && error.code === 'resource_not_found') throw notFound(uri);
        throw error;
      }
    });
  },
};

function subscription(change: (uris: readonly string[], uri: string) => readonly string[]): Method {
  return {
    modes: ['session'],
    needs: 'subscriptions',
    async run(call) {
      const uri = requiredText(call.params, 'uri');
      const resource = resourceAt(resourcesOf(call), uri);
      if (!resource?.facts.subscribe) throw notFound(uri);
      const { session } = call;
      if (session) await call.server.sessions.setSubscriptions(session, change(session.subscriptions, uri));
      return emptyResult;
    },
  };
}

export const subscribe = subscription((uris, uri) => [...new Set([...uris, uri])].slice(-maxSubscriptions));
export const unsubscribe = subscription((uris, uri) => uris.filter((one) => one !== uri));

/** Subscriptions of one session; beyond this number the oldest are dropped. */
const maxSubscriptions = 200;

function notFound(uri: string): RpcFailure {
  return new RpcFailure('INVALID_PARAM_VALUE', 'There is no resource at this URI.', {
    details: { path: '/uri' },
    data: { uri: shown(uri) },
  });
}
