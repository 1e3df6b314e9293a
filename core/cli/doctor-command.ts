import type { Command } from 'commander';
import { isCodedError } from '../sdk/errors.js';
import type { Finding, PluginRow } from '../sdk/host/plugin-control.js';
import type { CommandEnvironment } from './environment.js';
import { examples } from './examples.js';
import { exitCodes } from './exit.js';
import { switchPlugin } from './toggle-commands.js';

interface Findings {
  readonly findings: readonly Finding[];
}

export function addDoctorCommand(plugin: Command, environment: CommandEnvironment): void {
  plugin
    .command('doctor [key]')
    .description('what to mend, and how; exit 1 when one of the findings is an error')
    .option('--fix', 'enable the plugins that others wait for; everything else needs a person')
    .addHelpText(
      'after',
      examples('mortise plugin doctor', 'mortise plugin doctor mcp-server', 'mortise plugin doctor --fix'),
    )
    .action(async (key: string | undefined, { fix }: { readonly fix?: boolean }) => {
      const fixed = fix ? await enableMissing(environment, (await look(environment, key)).findings) : [];
      const { findings } = await look(environment, key);
      const lines = [
        ...fixed.map((one) => `fixed: ${one}`),
        ...findings.map(({ severity, message, fix: how }) => `${severity}: ${message}${how ? `\n  ${how}` : ''}`),
      ];
      environment.print(lines.join('\n') || 'Nothing to mend.', { findings, ...(fix ? { fixed } : {}) });
      if (findings.some(({ severity }) => severity === 'error')) environment.exitWith(exitCodes.refused);
    });
}

function look({ either }: CommandEnvironment, key: string | undefined): Promise<Findings> {
  const query = key === undefined ? '' : `?key=${encodeURIComponent(key)}`;
  return either<Findings>(
    (server) => server.request('GET', `/admin/plugins/doctor${query}`),
    async ({ control }) => ({ findings: await control.doctor(key) }),
  );
}

/** Enables what blocked plugins require. @returns what was done, a sentence each */
async function enableMissing(
  environment: CommandEnvironment,
  findings: readonly Finding[],
): Promise<readonly string[]> {
  const waiting = findings.filter(({ code }) => code === 'dependency_disabled').map(({ key }) => key);
  const done: string[] = [];
  for (;;) {
    const rows = await environment.either<readonly PluginRow[]>(
      async (server) => (await server.request<{ plugins: readonly PluginRow[] }>('GET', '/admin/plugins')).plugins,
      ({ control }) => control.list(),
    );
    const wanted = rows.filter(({ key }) => waiting.includes(key)).flatMap(({ requires }) => requires);
    const next = rows.find(({ key, desired }) => desired === 'disabled' && wanted.includes(key));
    if (!next) return done;
    waiting.push(next.key);
    // What it waits for may be off as well, and is next: then it cannot start yet.
    await switchPlugin(environment, next.key, true).catch((error: unknown) => {
      if (!isCodedError(error) || error.code !== 'plugin_blocked') throw error;
    });
    done.push(`${next.key} is enabled`);
  }
}
