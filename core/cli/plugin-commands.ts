import type { Command } from 'commander';
import { MortiseError } from '../sdk/errors.js';
import type {
  Finding,
  LoadTreeNode,
  PluginChange,
  PluginDetail,
  PluginPlan,
  PluginRow,
} from '../sdk/host/plugin-control.js';
import type { CommandEnvironment } from './main.js';
import { type OfflineControl, openOffline } from './offline-control.js';
import { noServer } from './status-command.js';
import { table } from './table.js';

interface Listing {
  readonly revision: number;
  readonly plugins: readonly PluginRow[];
}

/** `mortise plugin …`: the running server's admin API, or the files when there is no server. */
export function addPluginCommands(program: Command, environment: CommandEnvironment): void {
  const plugin = program.command('plugin').description('list, inspect and toggle plugins');
  const { print, exitWith } = environment;

  /** Asks the server; without one, answers from the files. */
  const ask = async <T>(path: string, offline: (engine: OfflineControl) => Promise<T> | T): Promise<T> => {
    const client = environment.client();
    if (await client.alive()) return (await client.request('GET', path)) as T;
    const engine = await openOffline(environment.projectDir);
    try {
      return await offline(engine);
    } finally {
      await engine.dispose();
    }
  };

  plugin
    .command('list')
    .description('every plugin with its state')
    .action(async () => {
      const listing = await ask<Listing>('/admin/plugins', ({ control }) => ({
        revision: control.revision(),
        plugins: control.list(),
      }));
      const rows = listing.plugins.map((row) => [
        row.key,
        row.desired,
        row.state,
        row.required ? 'yes' : '',
        row.message ?? '',
      ]);
      print(table(['PLUGIN', 'DESIRED', 'STATE', 'REQUIRED', 'WHY'], rows), listing);
    });

  plugin
    .command('inspect <key>')
    .description('one plugin in full')
    .action(async (key: string) => {
      const detail = await ask<PluginDetail>(`/admin/plugins/${encodeURIComponent(key)}`, ({ control }) =>
        control.inspect(key),
      );
      print(describe(detail), detail);
    });

  for (const action of ['enable', 'disable'] as const) {
    const command = plugin
      .command(`${action} <key>`)
      .description(
        action === 'enable'
          ? 'start a plugin now and at every start'
          : 'stop a plugin now and leave it out from now on',
      )
      .option('--dry-run', 'only show what would happen');
    if (action === 'disable') command.option('--cascade', 'also disable the plugins that need it');
    command.action(async (key: string, given: { cascade?: boolean; dryRun?: boolean }) => {
      const enabled = action === 'enable';
      if (given.dryRun) return showPlan([{ key, enabled }]);
      const cascade = given.cascade === true;
      const client = environment.client();
      const row = (await client.alive())
        ? ((await client.request('POST', `/admin/plugins/${encodeURIComponent(key)}/${action}`, {
            cascade,
          })) as PluginRow)
        : await toggleOffline(key, enabled, cascade);
      print(
        `${row.key} is ${row.state}${row.desired === 'enabled' && row.state === 'disabled' ? '; it starts with the server' : ''}.`,
        row,
      );
    });
  }

  for (const action of ['restart', 'release'] as const) {
    plugin
      .command(`${action} <key>`)
      .description(
        action === 'restart'
          ? 'stop and start a plugin and those that need it'
          : 'end a quarantine and start the plugin again',
      )
      .action(async (key: string) => {
        const client = environment.client();
        if (!(await client.alive())) throw noServer();
        const row = (await client.request(
          'POST',
          `/admin/plugins/${encodeURIComponent(key)}/${action}`,
          {},
        )) as PluginRow;
        print(`${row.key} is ${row.state}.`, row);
      });
  }

  plugin
    .command('plan <change...>')
    .description('what changes would start, stop and open: +key enables, -key disables')
    .addHelpText('after', '\nExample:\n  mortise plugin plan +tool-echo -mcp-server')
    .allowUnknownOption()
    .action((changes: string[]) => showPlan(changes.map(parseChange)));

  plugin
    .command('doctor [key]')
    .description('findings with a fix for each; exit 1 when one of them is an error')
    .action(async (key: string | undefined) => {
      const query = key ? `?key=${encodeURIComponent(key)}` : '';
      const answer = await ask<{ findings: readonly Finding[] }>(
        `/admin/plugins/doctor${query}`,
        async ({ control }) => ({
          findings: await control.doctor(key),
        }),
      );
      const lines = answer.findings.map(
        ({ severity, message, fix }) => `${severity}: ${message}${fix ? `\n  ${fix}` : ''}`,
      );
      print(lines.join('\n') || 'Nothing to mend.', answer);
      if (answer.findings.some(({ severity }) => severity === 'error')) exitWith(1);
    });

  plugin
    .command('tree')
    .description('load tree with times in milliseconds')
    .action(async () => {
      const answer = await ask<{ tree: readonly LoadTreeNode[] }>('/admin/tree', ({ control }) => ({
        tree: control.tree(),
      }));
      print(answer.tree.flatMap((node) => branch(node, '')).join('\n'), answer);
    });

  async function showPlan(changes: readonly PluginChange[]): Promise<void> {
    const client = environment.client();
    let plan: PluginPlan;
    if (await client.alive()) plan = (await client.request('POST', '/admin/plugins/plan', { changes })) as PluginPlan;
    else {
      const engine = await openOffline(environment.projectDir);
      try {
        plan = engine.control.plan(changes);
      } finally {
        await engine.dispose();
      }
    }
    const lines = [
      `starts:  ${plan.starts.join(', ') || '-'}`,
      `stops:   ${plan.stops.join(', ') || '-'}`,
      `drains:  ${plan.drains.map(({ key, inFlight }) => `${key} (${inFlight} calls)`).join(', ') || '-'}`,
      `blocked: ${plan.blocked.map(({ key, message }) => `${key}: ${message}`).join('\n         ') || '-'}`,
      `opens:   ${plan.wider.join('\n         ') || '-'}`,
    ];
    print(lines.join('\n'), plan);
  }

  async function toggleOffline(key: string, enabled: boolean, cascade: boolean): Promise<PluginRow> {
    const engine = await openOffline(environment.projectDir);
    try {
      return await engine.want(key, enabled, cascade);
    } finally {
      await engine.dispose();
    }
  }
}

function parseChange(text: string): PluginChange {
  const sign = text[0];
  if ((sign !== '+' && sign !== '-') || text.length < 2) {
    throw new MortiseError('cli_error', `"${text}" is no change.`, {
      hint: 'Write +key to enable a plugin and -key to disable one.',
    });
  }
  return { key: text.slice(1), enabled: sign === '+' };
}

function describe(detail: PluginDetail): string {
  const lines = [
    `${detail.key} ${detail.version}: ${detail.title}`,
    detail.manifest?.summary ?? '',
    '',
    `state        ${detail.state} since ${detail.since} (desired: ${detail.desired}${detail.required ? ', required' : ''})`,
  ];
  if (detail.message) lines.push(`why          ${detail.message}`, `next         ${detail.hint ?? '-'}`);
  lines.push(
    `requires     ${detail.requires.join(', ') || '-'}`,
    `needed by    ${detail.dependants.join(', ') || '-'}`,
    `health       ${detail.health ? `${detail.health.ok ? 'ok' : 'not ok'}${detail.health.detail ? `: ${detail.health.detail}` : ''}` : '-'}`,
    `load times   import ${ms(detail.load_times_ms.import)}, register ${ms(detail.load_times_ms.register)}, start ${ms(detail.load_times_ms.start)}`,
    `last fault   ${detail.last_fault ? `${detail.last_fault.at} ${detail.last_fault.message}` : '-'}`,
  );
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
    lines.push('', table(['POINT', 'KEY', 'CALLS', 'ERRORS', 'IN FLIGHT', 'P50', 'P95'], rows));
  }
  if (detail.config.length > 0) {
    lines.push(
      '',
      table(
        ['CONFIG', 'VALUE', 'FROM'],
        detail.config.map((value) => [value.name, JSON.stringify(value.value) ?? '', value.origin ?? value.source]),
      ),
    );
  }
  return lines.join('\n');
}

function branch(node: LoadTreeNode, indent: string): readonly string[] {
  const { import: imported, register, start } = node.ms;
  return [
    `${indent}${node.key} (${node.state}) import ${ms(imported)}, register ${ms(register)}, start ${ms(start)}`,
    ...node.requires.flatMap((needed) => branch(needed, `${indent}  `)),
  ];
}

function ms(value: number | null): string {
  return value === null ? '-' : `${Math.round(value * 100) / 100} ms`;
}
