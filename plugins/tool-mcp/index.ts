import type { PluginDefinition } from 'mortise/sdk';
import { type AcceptDeps, acceptCommand, acceptRoute, listCommand, listRoute } from './accept-tools.js';
import type { Config } from './config.generated.js';
import { mcpTools } from './migrations/0001-mcp-tools.js';
import { Pins } from './pins.js';
import { type ServerDeps, ServerTools } from './server-tools.js';

/** Tools of external MCP servers. */
export default function toolMcp(): PluginDefinition<Config> {
  return {
    key: 'tool-mcp',
    async start(host) {
      const database = host.use('database');
      const { workspaceDir, version } = host.use('settings');
      const fetch = host.use('fetch');
      await database.migrate([mcpTools]);
      const pins = new Pins(database, host.use('audit'));
      const deps: ServerDeps = {
        pins,
        // The MCP client takes 0.1 s to load, which every start without a server saves.
        connect: async (server, hooks) => {
          const { connect } = await import('./connect.js');
          return connect(server, { ...hooks, fetch, cwd: workspaceDir, version, signal: host.signal });
        },
        contribute: (key, tool) => host.contribute('tool', key, tool),
        alert: (server, tool) =>
          host.emit('alert', {
            source: `mcp-server:${server}`,
            severity: 'high',
            code: 'mcp_tool_changed',
            message: `The tool ${tool} of the MCP server ${server} has changed and is withheld until it is accepted.`,
            data: { server, tool },
          }),
        log: host.log,
        signal: host.signal,
      };
      const servers = Object.entries(host.config.servers)
        .filter(([, { enabled }]) => enabled !== false)
        .map(([name, server]) => new ServerTools(name, server, deps));
      const accepting: AcceptDeps = { pins, servers };
      host.contribute('route', 'list-mcp-tools', listRoute(accepting));
      host.contribute('route', 'accept-mcp-tool', acceptRoute(accepting));
      host.contribute('command', 'mcp-list', listCommand(host.facts('command', 'mcp-list'), accepting));
      host.contribute('command', 'mcp-accept', acceptCommand(host.facts('command', 'mcp-accept'), accepting));
      // Not awaited: a server that does not answer delays nothing.
      for (const server of servers) void server.refresh();
      return {
        health: () => {
          const silent = servers.filter(({ state }) => state === 'unreachable');
          if (silent.length === 0) return { ok: true };
          const names = silent.map(({ name, reason }) => `${name} (${reason})`);
          return {
            ok: false,
            detail: `No answer from the MCP server ${names.join(', ')}; its tools are not offered.`,
            hint: 'Compare its command or url in config/tool-mcp.json; it is tried again, and mortise mcp list shows the state.',
          };
        },
        async stop() {
          await Promise.all(servers.map((server) => server.close()));
        },
      };
    },
  };
}
