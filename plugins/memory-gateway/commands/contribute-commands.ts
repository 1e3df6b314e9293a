import type { Command, CommandFacts, StartHost } from 'mortise/sdk';
import type { Config } from '../config.generated.js';
import type { GatewayParts } from '../parts.js';
import { auditCommand } from './audit-command.js';
import { exportCommand } from './export-command.js';
import { recoverCommand } from './recover-command.js';
import { reportCommand } from './report-command.js';
import { usersCommand } from './users-command.js';

const commands: Readonly<Record<string, (facts: CommandFacts, parts: GatewayParts) => Command>> = {
  'memory-recover': recoverCommand,
  'memory-audit': auditCommand,
  'memory-report': reportCommand,
  'memory-users': usersCommand,
  'memory-export': exportCommand,
};

/** The plugin's words on the command line. */
export function contributeCommands(host: StartHost<Config>, parts: GatewayParts): void {
  for (const [key, make] of Object.entries(commands)) {
    host.contribute('command', key, make(host.facts('command', key), parts));
  }
}
