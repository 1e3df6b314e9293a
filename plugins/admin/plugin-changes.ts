import {
  isCodedError,
  isJsonObject,
  MortiseError,
  type PluginControl,
  type PluginRow,
  type Route,
  type RouteContext,
  type StartHost,
  type ToggleOptions,
} from 'mortise/sdk';
import type { ChangeAudit } from './audit-changes.js';

type ToggleAction = 'enable' | 'disable' | 'restart' | 'release';

interface Deps {
  readonly host: Pick<StartHost, 'key' | 'on'>;
  readonly plugins: PluginControl;
  readonly audit: ChangeAudit;
}

/** Responds once the plugin's state is final. */
export function toggleRoute(action: ToggleAction, { host, plugins, audit }: Deps): Route {
  return {
    handle: async (request, ctx) => {
      const key = request.params.key ?? '';
      const { cascade, ...options } = toggleOptions(request.body, ctx);
      const row = await audit(change(action, key, ctx), () => {
        const settled = plugins[action](key, { ...options, cascade });
        return key === host.key ? rowWhileDraining(host, plugins, settled) : settled;
      });
      return { body: row };
    },
  };
}

/** The admin plugin waits for its requests before it stops, so a request that stops it must respond before that. */
async function rowWhileDraining(
  host: Deps['host'],
  plugins: PluginControl,
  settled: Promise<PluginRow>,
): Promise<PluginRow> {
  const { promise: draining, resolve } = Promise.withResolvers<PluginRow | undefined>();
  const listener = host.on('plugin-state', ({ key, to }) => {
    if (key === host.key && to === 'draining') resolve(plugins.list().find((row) => row.key === key));
  });
  // The response has already been sent by then.
  settled.catch(() => undefined);
  try {
    return (await Promise.race([draining, settled])) ?? (await settled);
  } finally {
    await listener.dispose();
  }
}

/**
 * Validates and applies a configuration, or with `patchConfig` a merge patch (RFC 7396). After a refusal the old one
 * remains in effect.
 */
export function configureRoute(action: 'configure' | 'patchConfig', { plugins, audit }: Deps): Route {
  return {
    handle: async (request, ctx) => {
      const key = request.params.key ?? '';
      const { body } = request;
      if (!isJsonObject(body)) {
        const what = action === 'configure' ? 'the configuration' : 'a merge patch of the configuration';
        throw new MortiseError('invalid_request', `The body must be ${what}: a JSON object.`, { status: 400 });
      }
      const applied = await audit(change('configure', key, ctx), () =>
        plugins[action](key, body, { by: ctx.principal.id }),
      ).catch((error: unknown) => {
        throw withErrorList(error);
      });
      return { body: applied };
    },
  };
}

/** On the wire, the details of a refused configuration are the list of its errors. */
function withErrorList(error: unknown): unknown {
  if (!isCodedError(error) || error.code !== 'invalid_config') return error;
  const { code, message, status, details } = error;
  const errors = (details as { readonly errors?: unknown } | undefined)?.errors ?? [];
  const hint = error instanceof MortiseError ? error.hint : undefined;
  return new MortiseError(code, message, {
    status: status ?? 422,
    details: errors as Readonly<Record<string, unknown>>,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Writes the desired state shared by the replicas back to the file. */
export function exportRoute({ plugins, audit }: Deps): Route {
  return {
    handle: async (request, ctx) => {
      const { cascade: _, ...options } = toggleOptions(request.body, ctx);
      return { body: await audit(change('export', 'all', ctx), () => plugins.export(options)) };
    },
  };
}

function change(action: string, key: string, ctx: RouteContext) {
  return { action, key, principal: ctx.principal, correlationId: ctx.correlationId };
}

function toggleOptions(body: unknown, { principal }: RouteContext): ToggleOptions & { readonly cascade: boolean } {
  const by = principal.id;
  if (body === undefined || body === null) return { cascade: false, by };
  const { cascade = false, revision } = body as { cascade?: unknown; revision?: unknown };
  const valid =
    typeof body === 'object' &&
    !Array.isArray(body) &&
    typeof cascade === 'boolean' &&
    (revision === undefined || Number.isSafeInteger(revision));
  if (!valid) {
    throw new MortiseError('invalid_request', 'The body must be {cascade?: true or false, revision?: whole number}.', {
      status: 400,
    });
  }
  return { cascade, by, ...(revision === undefined ? {} : { revision: revision as number }) };
}
