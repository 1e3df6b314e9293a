import { MortiseError, type PluginControl, type Route } from 'mortise/sdk';

export function listRoute(plugins: PluginControl): Route {
  return { handle: () => ({ body: { revision: plugins.revision(), plugins: plugins.list() } }) };
}

export function inspectRoute(plugins: PluginControl): Route {
  return { handle: async ({ params }) => ({ body: await plugins.inspect(params.key ?? '') }) };
}

/** Plans changes without applying them. */
export function planRoute(plugins: PluginControl): Route {
  return { handle: async ({ body }) => ({ body: await plugins.plan(changesOf(body)) }) };
}

export function doctorRoute(plugins: PluginControl): Route {
  return { handle: async ({ query }) => ({ body: { findings: await plugins.doctor(query.get('key') ?? undefined) } }) };
}

export function treeRoute(plugins: PluginControl): Route {
  return { handle: () => ({ body: { tree: plugins.tree() } }) };
}

const changeMembers: ReadonlySet<string> = new Set(['key', 'enabled', 'config', 'bind']);

function changesOf(body: unknown): Parameters<PluginControl['plan']>[0] {
  const changes = (body as { changes?: unknown } | undefined)?.changes;
  if (!Array.isArray(changes)) throw invalid('/changes', 'must be a list of {key, enabled?, config?, bind?}');
  changes.forEach((change: unknown, index) => {
    const given = (typeof change === 'object' && change !== null ? change : {}) as Record<string, unknown>;
    const at = `/changes/${index}`;
    if (typeof given.key !== 'string') throw invalid(`${at}/key`, 'must be the key of a plugin');
    if (given.enabled !== undefined && typeof given.enabled !== 'boolean')
      throw invalid(`${at}/enabled`, 'must be true or false');
    if (given.config !== undefined && (typeof given.config !== 'object' || given.config === null))
      throw invalid(`${at}/config`, 'must be an object');
    if (given.bind !== undefined && typeof given.bind !== 'string')
      throw invalid(`${at}/bind`, 'must be a contested key such as tool:echo');
    const unknown = Object.keys(given).find((name) => !changeMembers.has(name));
    if (unknown !== undefined) throw invalid(`${at}/${unknown.slice(0, 64)}`, 'is not a member of a change');
  });
  return changes as Parameters<PluginControl['plan']>[0];
}

function invalid(path: string, rule: string): MortiseError {
  return new MortiseError('invalid_request', `${path} ${rule}.`, { status: 400, details: { path } });
}
