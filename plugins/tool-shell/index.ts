import { commandEnvironment } from 'mortise/contracts/tool-shell';
import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { explainShell } from './errors.js';
import { type ExecRequest, ShellSessions, type StdinRequest } from './sessions.js';
import { runShell, type ShellDeps, type ShellItem } from './shell.js';

const idleCheckMs = 60_000;

/** Shell commands, and sessions of commands that go on running. */
export default function toolShell(): PluginDefinition<Config> {
  return {
    key: 'tool-shell',
    start(host) {
      const envs = host.watch('envs');
      const deps: ShellDeps = {
        files: host.use('workspace-files'),
        settings: host.use('settings'),
        sandbox: host.config.sandbox,
        processLimit: host.config.process_limit,
        environment: () => commandEnvironment(process.env, envs.current?.exported() ?? {}),
      };
      const sessions = new ShellSessions(deps);
      host.contribute('tool', 'shell', {
        ...host.facts('tool', 'shell'),
        explain: explainShell,
        run: ({ items }, { signal }) => runShell(items as readonly ShellItem[], deps, signal),
      });
      host.contribute('tool', 'exec_command', {
        ...host.facts('tool', 'exec_command'),
        explain: explainShell,
        // Models also write the members of the tool shell.
        normalise: ({ command, cwd, ...args }) => ({
          ...(command === undefined ? {} : { cmd: command }),
          ...(cwd === undefined ? {} : { workdir: cwd }),
          ...args,
        }),
        run: (args, ctx) => sessions.exec(args as unknown as ExecRequest, ctx),
      });
      host.contribute('tool', 'write_stdin', {
        ...host.facts('tool', 'write_stdin'),
        normalise: ({ process_id: id, ...args }) => (id === undefined ? args : { session_id: id, ...args }),
        run: (args, ctx) => sessions.write(args as unknown as StdinRequest, ctx),
      });
      host.every(idleCheckMs, () => sessions.closeIdle());
      return { stop: () => sessions.closeAll() };
    },
  };
}
