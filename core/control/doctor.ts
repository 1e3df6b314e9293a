import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Kernel } from '../kernel/kernel.js';
import type { PluginRecord } from '../kernel/plugin-record.js';
import { problem, problemOf } from '../messages/plugin-problems.js';
import { rawResources } from '../process/raw-resources.js';
import type { Finding } from '../sdk/host/plugin-control.js';

/** What an admin should look at, worst first. */
export async function findings(kernel: Kernel, only: PluginRecord | undefined): Promise<readonly Finding[]> {
  const records = only ? [only] : kernel.plugins.records();
  const others = only ? [] : await kernel.deps.findings();
  const plugins = await Promise.all(
    records.map(async (record) => {
      const facts = [
        ...aboutPlugin(record, kernel),
        ...aboutInert(record, kernel),
        ...aboutUncalled(record, kernel),
        ...aboutRoutes(record, kernel),
      ];
      // What is known about the plugin explains why it does not work.
      const isExplained = facts.some(({ severity }) => severity !== 'info');
      return isExplained ? facts : [...facts, ...(await aboutHealth(record, kernel.deps.clean))];
    }),
  );
  const found = [...plugins.flat(), ...others.filter((other) => !isReported(other, kernel))];
  const rank = { error: 0, warning: 1, info: 2 } as const;
  return found.sort((a, b) => rank[a.severity] - rank[b.severity]);
}

/** The invalid configuration of a plugin is also a finding of the settings. */
function isReported({ key, message }: Finding, kernel: Kernel): boolean {
  const record = key === undefined ? undefined : kernel.plugins.record(key);
  return record?.config?.problem?.message === message;
}

async function aboutHealth(
  { key, run, state }: PluginRecord,
  clean: (text: string) => string,
): Promise<readonly Finding[]> {
  const health = state === 'active' ? await run?.health() : undefined;
  if (!health || health.ok) return [];
  return [
    {
      severity: 'warning',
      key,
      code: 'unhealthy',
      message: clean(`${key}: ${health.detail ?? 'it reports that it does not work'}`),
      fix: clean(
        health.hint ??
          `mortise plugin inspect ${key} shows its state and configuration; its README says what it needs.`,
      ),
    },
  ];
}

function aboutPlugin(record: PluginRecord, kernel: Kernel): readonly Finding[] {
  const { clean, clock } = kernel.deps;
  const { config, entry, key, lastFault, run, state } = record;
  const found: Finding[] = [];
  const warn = (code: string, message: string, fix: string): void =>
    void found.push({ severity: 'warning', key, code, message, fix });
  const shown = record.problem ?? (entry.problem && problemOf(key, entry.problem));
  if (shown) {
    const severity = record.problem ? 'error' : 'warning';
    found.push({ severity, key, code: shown.code, message: clean(`${key}: ${shown.message}`), fix: shown.hint });
  }
  if (run && config?.problem)
    warn(
      'invalid_config',
      clean(`${key} runs on its last good configuration: ${config.problem.message}`),
      `Correct what it names, config/${key}.json or a variable.`,
    );
  if (entry.setAside)
    warn(
      'duplicate_plugin',
      `${key} is shipped with the platform, and ${entry.setAside.join(', ')} has the same key and is not used.`,
      'Give the other one a key of its own, or remove its folder.',
    );
  const missing = (state === 'active' && run?.staging.missing()) || [];
  if (missing.length > 0) {
    const { code, message, hint } = problem('contribution_missing', missing.join(', '));
    found.push({ severity: 'info', key, code, message: `${key}: ${message}`, fix: hint });
  }
  if (lastFault && !record.problem && isPresent(lastFault, record, clock.now()))
    warn(
      lastFault.code,
      `${key} had a fault at ${new Date(lastFault.at).toISOString()}: ${lastFault.message}.`,
      `See the log lines of that plugin; the finding goes when it has had no fault for ten minutes, or with mortise plugin restart ${key}`,
    );
  // Only plugins that were loaded from a folder have an entry file.
  if (run && run.entry.entry !== null && !existsSync(join(run.entry.folder, 'plugin.json')))
    warn(
      'folder_removed',
      `The folder of ${key} was removed while it runs: it will be missing after the next start.`,
      `Put the folder back, or disable it: mortise plugin disable ${key}`,
    );
  const left = run ? [] : rawResources(key);
  if (left.length > 0)
    warn(
      'left_behind',
      `${key} is not running and left behind: ${counted(left)}.`,
      'Use host.every(), host.cron() and host.own() instead of raw timers and servers; a restart of the process ends them.',
    );
  return found;
}

/** How long a fault that has not come again is reported, milliseconds. */
const faultShownMs = 600_000;

/** A fault of an earlier run of the plugin says nothing about this one. */
function isPresent({ at }: { readonly at: number }, { since }: PluginRecord, now: number): boolean {
  return at >= since && now - at < faultShownMs;
}

function counted(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`)).join(', ');
}

/** Contributions to a point whose caller watches it, while no plugin does. */
function aboutUncalled({ key, run }: PluginRecord, kernel: Kernel): readonly Finding[] {
  const points = new Set(run?.staging.held.map(({ point }) => point));
  return [...points]
    .filter((point) => kernel.registry.declaration(point).watched === true && !kernel.registry.isWatched(point))
    .map((point) => ({
      severity: 'warning',
      key,
      code: 'contribution_uncalled',
      message: `${key} contributes to the extension point "${point}", and no active plugin calls it.`,
      fix: `Enable the plugin that uses "${point}" (mortise plugin list), or disable this one: mortise plugin disable ${key}`,
    }));
}

function aboutInert({ key }: PluginRecord, kernel: Kernel): readonly Finding[] {
  return kernel.inert(key).map(({ point, owner }) => ({
    severity: 'info',
    key,
    code: 'contribution_inert',
    message: `${key} contributes to the extension point "${point}", which has no effect while ${owner} is disabled.`,
    fix: `mortise plugin enable ${owner}`,
  }));
}

/** Routes that end in a rest parameter and get no requests: another plugin has routes with the same prefix. */
function aboutRoutes({ key, run, entry }: PluginRecord, kernel: Kernel): readonly Finding[] {
  const { manifest } = run?.entry ?? entry;
  if (!run || !manifest) return [];
  const others = kernel.plugins.records().flatMap((other) => (other.entry.manifest ? [other.entry.manifest] : []));
  return (manifest.permissions?.routes ?? []).flatMap(({ kind, path }): Finding[] => {
    const prefix = path.slice(0, Math.max(0, path.search(/\/[:*]/)));
    if (kind === 'static' || prefix === '' || !path.includes('/*')) return [];
    const owner = others.find(
      (other) => other.key !== key && other.permissions?.routes?.some((route) => isOn(prefix, route)),
    );
    if (!owner) return [];
    return [
      {
        severity: 'warning',
        key,
        code: 'route_idle',
        message: `${path} of ${key} answers nothing: "${owner.key}" has routes there, and other paths there are answered with 404.`,
        fix: 'Give the route a first segment of its own.',
      },
    ];
  });
}

function isOn(prefix: string, { kind, path }: { readonly kind: string; readonly path: string }): boolean {
  return kind !== 'static' && !path.includes('/*') && `${path}/`.startsWith(`${prefix}/`);
}
