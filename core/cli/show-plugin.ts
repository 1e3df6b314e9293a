import type { LoadTreeNode, PluginDetail, PluginRow } from '../sdk/host/plugin-control.js';
import { oneLine } from '../sdk/text.js';
import { table } from './table.js';

/** What a plugin is doing; without a server nothing runs, and what is wanted says more. */
export function shownState({ desired, state }: PluginRow, offline: boolean): string {
  return offline && state === 'disabled' ? `${desired}, offline` : state;
}

/** One plugin in full, for people. */
export function showPlugin(detail: PluginDetail, offline: boolean): string {
  const lines = [
    `${detail.key} ${detail.version}: ${detail.title}`,
    detail.manifest?.summary ?? '',
    '',
    `state        ${shownState(detail, offline)} since ${detail.since} (desired: ${detail.desired}${detail.required ? ', required' : ''})`,
  ];
  if (detail.message) lines.push(`why          ${detail.message}`, `next         ${detail.hint ?? '-'}`);
  for (const { node, state, at } of detail.replicas ?? []) lines.push(`replica      ${node} ${state} since ${at}`);
  const { health, load_times_ms: times, last_fault: fault } = detail;
  lines.push(
    `requires     ${detail.requires.join(', ') || '-'}`,
    `needed by    ${detail.dependants.join(', ') || '-'}`,
    `health       ${health ? `${health.ok ? 'ok' : 'not ok'}${health.detail ? `: ${health.detail}` : ''}` : '-'}`,
    `load times   import ${ms(times.import)}, register ${ms(times.register)}, start ${ms(times.start)}`,
    `last fault   ${fault ? `${fault.at} ${fault.message}` : '-'}`,
  );
  const text = lines.map(oneLine);
  if (detail.contributions.length > 0) {
    const rows = detail.contributions.map((one) => [
      one.point,
      one.key,
      String(one.calls),
      String(one.errors),
      String(one.in_flight),
      ms(one.p50_ms),
      ms(one.p95_ms),
    ]);
    text.push('', table(['POINT', 'KEY', 'CALLS', 'ERRORS', 'IN FLIGHT', 'P50', 'P95'], rows));
  }
  if (detail.config.length > 0) {
    const rows = detail.config.map((one) => [one.name, JSON.stringify(one.value) ?? '', one.origin ?? one.source]);
    text.push('', table(['CONFIG', 'VALUE', 'FROM'], rows));
  }
  return text.join('\n');
}

/** The load tree with times: what needs a plugin stands above it. */
export function showTree(nodes: readonly LoadTreeNode[], indent = ''): readonly string[] {
  return nodes.flatMap((node) => [
    `${indent}${node.key} (${node.state}) import ${ms(node.ms.import)}, register ${ms(node.ms.register)}, start ${ms(node.ms.start)}`,
    ...showTree(node.requires, `${indent}  `),
  ]);
}

function ms(value: number | null): string {
  return value === null ? '-' : `${Math.round(value * 100) / 100} ms`;
}
