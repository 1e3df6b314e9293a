import { MortiseError, type PluginControl, type Route, type RouteContext, type RouteRequest } from 'mortise/sdk';
import type { ChangeAudit } from './audit-changes.js';

export type ToggleAction = 'enable' | 'disable' | 'restart' | 'release';

/** Answers once the plugin's state is final. */
export function toggleRoute(action: ToggleAction, plugins: PluginControl, audit: ChangeAudit): Route {
  return {
    handle: async (request, ctx) => {
      const key = request.params.key ?? '';
      const { cascade, revision } = toggleOptions(request.body);
      const row = await audit(change(action, key, ctx), () =>
        plugins[action](key, { cascade, ...(revision === undefined ? {} : { revision }), by: ctx.principal.id }),
      );
      return { body: row };
    },
  };
}

/** Checks first; a configuration that is refused leaves the old one in force. */
export function configureRoute(plugins: PluginControl, audit: ChangeAudit): Route {
  return {
    handle: async (request: RouteRequest, ctx) => {
      const key = request.params.key ?? '';
      const { body } = request;
      if (typeof body !== 'object' || body === null || Array.isArray(body)) {
        throw new MortiseError('invalid_request', 'The body must be the configuration: a JSON object.', {
          status: 400,
        });
      }
      const applied = await audit(change('configure', key, ctx), () =>
        plugins.configure(key, body as Record<string, unknown>, { by: ctx.principal.id }),
      );
      return { body: applied };
    },
  };
}

/** Writes the desired state that replicas share back to the file. */
export function exportRoute(plugins: PluginControl, audit: ChangeAudit): Route {
  return {
    handle: async (request, ctx) => {
      const { revision } = toggleOptions(request.body);
      const exported = await audit(change('export', 'all', ctx), () =>
        plugins.export({ ...(revision === undefined ? {} : { revision }), by: ctx.principal.id }),
      );
      return { body: exported };
    },
  };
}

function change(action: string, key: string, ctx: RouteContext) {
  return { action, key, principal: ctx.principal, correlationId: ctx.correlationId };
}

function toggleOptions(body: unknown): { readonly cascade: boolean; readonly revision: number | undefined } {
  if (body === undefined || body === null) return { cascade: false, revision: undefined };
  const { cascade = false, revision } = body as { cascade?: unknown; revision?: unknown };
  if (
    typeof body !== 'object' ||
    typeof cascade !== 'boolean' ||
    (revision !== undefined && !Number.isInteger(revision))
  ) {
    throw new MortiseError('invalid_request', 'The body must be {cascade?: true or false, revision?: whole number}.', {
      status: 400,
    });
  }
  return { cascade, revision: revision as number | undefined };
}
