import type { LoadTreeNode } from '../sdk/host/plugin-control.js';
import type { Kernel } from './kernel.js';
import type { PluginRecord } from './plugin-record.js';

/** Enabled plugins by what they require, with the times of their last start. */
export function loadTree(kernel: Kernel): readonly LoadTreeNode[] {
  const node = (record: PluginRecord, path: readonly string[]): LoadTreeNode => ({
    key: record.key,
    state: record.state,
    ms: record.times,
    requires: record.required.flatMap((key) => {
      const needed = kernel.record(key);
      return needed && !path.includes(key) ? [node(needed, [...path, record.key])] : [];
    }),
  });
  const records = kernel.records().filter((record) => kernel.isEnabled(record.key));
  const needed = new Set(records.flatMap((record) => record.required));
  const roots = records.filter((record) => !needed.has(record.key));
  return (roots.length > 0 ? roots : records).map((record) => node(record, []));
}
