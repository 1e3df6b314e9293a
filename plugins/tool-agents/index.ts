import type { PluginDefinition } from 'mortise/sdk';
import { agentTools } from './agent-tools.js';
import { BackgroundRuns } from './background-runs.js';
import { subAgentTables } from './migrations/0001-subagents.js';
import { SubAgents } from './sub-agents.js';

const orphanCheckMs = 15_000;

/** Sub-agents: sessions that an agent starts and gives work. */
export default function toolAgents(): PluginDefinition {
  return {
    key: 'tool-agents',
    async start(host) {
      const database = host.use('database');
      const instances = host.use('instances');
      const sessions = host.use('sessions');
      await database.migrate([subAgentTables]);
      const agents = new SubAgents(database, instances.id);
      const failOrphans = () => agents.failOrphans((instance) => instances.isAlive(instance));
      await failOrphans();
      const runs = new BackgroundRuns({ turns: host.use('turns'), sessions, agents, log: host.log });
      for (const [name, code] of Object.entries(agentTools({ agents, runs, sessions }))) {
        host.contribute('tool', name, { ...host.facts('tool', name), ...code });
      }
      host.every(orphanCheckMs, failOrphans);
      return { drain: () => runs.stop(), stop: () => runs.stop() };
    },
  };
}
