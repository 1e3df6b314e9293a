import type { Command } from 'commander';
import type { OfflineControl } from '../app/offline.js';
import { isCodedError, MortiseError } from '../sdk/errors.js';
import type { Finding, PluginRow } from '../sdk/host/plugin-control.js';
import { oneLine } from '../sdk/text.js';
import { type CommandEnvironment, printAnswer } from './environment.js';
import { exitCodes } from './exit.js';
import { examples } from './output.js';
import { switchPlugin } from './toggle-commands.js';
import { translated } from './translated.js';

/** Errors of a database that cannot be opened. */
const databaseCodes: ReadonlySet<string> = new Set(['database_unreachable', 'database_refused', 'database_unusable']);

interface Findings {
  readonly findings: readonly Finding[];
}

export function addDoctorCommand(plugin: Command, environment: CommandEnvironment): void {
  plugin
    .command('doctor [key]')
    .description('list problems and their fixes; exit 1 when one is an error')
    .option('--fix', 'enable the plugins that others require; nothing else is changed')
    .addHelpText(
      'after',
      examples('mortise plugin doctor', 'mortise plugin doctor mcp-server', 'mortise plugin doctor --fix'),
    )
    .action(async (key: string | undefined, { fix }: { readonly fix?: boolean }) => {
      const fixed = fix ? await enableMissing(environment, (await look(environment, key)).findings) : [];
      const { findings } = await look(environment, key);
      const lines = [
        ...fixed.map((one) => `fixed: ${one}`),
        ...findings.map(
          ({ severity, message, fix: how }) => `${severity}: ${oneLine(message)}${how ? `\n  ${oneLine(how)}` : ''}`,
        ),
      ];
      const text = lines.join('\n') || translated('Nothing to fix.');
      await printAnswer(environment, text, { findings, ...(fix ? { fixed } : {}) });
      if (findings.some(({ severity }) => severity === 'error')) environment.exitWith(exitCodes.refused);
    });
}

function look({ either, fromFiles }: CommandEnvironment, key: string | undefined): Promise<Findings> {
  const query = key === undefined ? '' : `?key=${encodeURIComponent(key)}`;
  const ask = async ({ control }: Pick<OfflineControl, 'control'>): Promise<Findings> => ({
    findings: await control.doctor(key),
  });
  return either<Findings>((server) => server.request('GET', `/admin/plugins/doctor${query}`), ask).catch(
    async (error: unknown) => {
      const found = databaseFinding(error);
      if (!found) throw error;
      // The files can still be checked.
      return { findings: [found, ...(await fromFiles(ask)).findings] };
    },
  );
}

/** The finding for an unreadable shared state; undefined for any other error. */
function databaseFinding(error: unknown): Finding | undefined {
  if (!(error instanceof MortiseError) || !databaseCodes.has(error.code)) return undefined;
  const { code, message, hint } = error;
  const rest = 'The other findings are based on plugins.json instead of the state that the servers share.';
  return { severity: 'error', code, message: `${message} ${rest}`, ...(hint ? { fix: hint } : {}) };
}

/** Enables the requirements of blocked plugins. @returns a sentence per enabled plugin */
async function enableMissing(
  environment: CommandEnvironment,
  findings: readonly Finding[],
): Promise<readonly string[]> {
  // Without the database the desired state can be neither read nor changed.
  if (findings.some(({ code }) => databaseCodes.has(code))) return [];
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
    // It cannot start while its own requirement is disabled, which is enabled next.
    await switchPlugin(environment, next.key, true).catch((error: unknown) => {
      if (!isCodedError(error) || error.code !== 'plugin_blocked') throw error;
    });
    done.push(`${next.key} is enabled`);
  }
}
