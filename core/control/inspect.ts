import { configSchemaId } from '../kernel/catalogue.js';
import { contributionKey } from '../kernel/extension-points.js';
import type { Kernel } from '../kernel/kernel.js';
import type { PluginRecord } from '../kernel/plugin-record.js';
import type { ContributionStats, LoadTreeNode, PluginDetail, PluginRow } from '../sdk/host/plugin-control.js';
import type { EffectiveValue } from '../sdk/host/settings.js';

export function rowOf(kernel: Kernel, record: PluginRecord): PluginRow {
  const manifest = (record.run?.entry ?? record.entry).manifest;
  return {
    key: record.key,
    title: manifest?.title ?? record.key,
    version: manifest?.version ?? '0.0.0',
    source: record.entry.source,
    tier: record.tier,
    desired: kernel.plugins.isEnabled(record.key) ? 'enabled' : 'disabled',
    state: record.state,
    since: new Date(record.since).toISOString(),
    code: record.problem?.code ?? null,
    message: record.problem?.message ?? null,
    hint: record.problem?.hint ?? null,
    required: kernel.plugins.isRequired(record.key),
    contributes: contributionsOf(record),
    requires: manifest?.requires ?? [],
    config_valid: !record.config?.problem,
  };
}

function contributionsOf(record: PluginRecord): Readonly<Record<string, readonly string[]>> {
  const manifest = record.entry.manifest;
  if (!manifest) return {};
  const rows: Record<string, readonly string[]> = {};
  for (const [point, contributions] of Object.entries(manifest.contributes ?? {}))
    rows[point] = contributions.map(contributionKey);
  const routes = manifest.permissions?.routes ?? [];
  if (routes.length > 0) rows.route = routes.map((route) => route.name);
  return rows;
}

export async function detailOf(
  kernel: Kernel,
  record: PluginRecord,
  effective: (owner: string) => readonly EffectiveValue[],
): Promise<PluginDetail> {
  const health = (await record.run?.health()) ?? null;
  return {
    ...rowOf(kernel, record),
    manifest: record.entry.manifest,
    config: effective(record.key).map(({ name, value, source, origin }) => ({ name, value, source, origin })),
    config_schema: record.entry.facts.get(configSchemaId) ?? null,
    contributions: (record.run?.staging.held ?? []).map(
      ({ point, key, stats }): ContributionStats => ({
        point,
        key,
        calls: stats.calls,
        errors: stats.errors,
        in_flight: stats.inFlight,
        p50_ms: rounded(stats.percentile(0.5)),
        p95_ms: rounded(stats.percentile(0.95)),
      }),
    ),
    dependants: kernel.plugins.dependants(record.key),
    health: health?.detail === undefined ? health : { ...health, detail: kernel.deps.clean(health.detail) },
    last_fault: record.lastFault ? { ...record.lastFault, at: new Date(record.lastFault.at).toISOString() } : null,
    load_times_ms: record.times,
    history: record.history.map(({ state, at, code }) => ({ state, at: new Date(at).toISOString(), code })),
  };
}

function rounded(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 1_000) / 1_000;
}

/** Enabled plugins by what they require, with the times of their last start. */
export function loadTree(kernel: Kernel): readonly LoadTreeNode[] {
  const node = (record: PluginRecord, path: readonly string[]): LoadTreeNode => ({
    key: record.key,
    state: record.state,
    ms: record.times,
    requires: record.required.flatMap((key) => {
      const needed = kernel.plugins.record(key);
      return needed && !path.includes(key) ? [node(needed, [...path, record.key])] : [];
    }),
  });
  const records = kernel.plugins.records().filter((record) => kernel.plugins.isEnabled(record.key));
  const needed = new Set(records.flatMap((record) => record.required));
  const roots = records.filter((record) => !needed.has(record.key));
  return (roots.length > 0 ? roots : records).map((record) => node(record, []));
}
