import type { PluginDefinition } from 'mortise/sdk';
import type { Config } from './config.generated.js';
import { handle } from './endpoint.js';
import { closeServer, type McpServer, startServer } from './server.js';

/** The MCP endpoint `/mcp`: `endpoint.ts` handles requests, `methods/table.ts` lists the methods. */
export default function mcpServer(): PluginDefinition<Config> {
  let server: McpServer | undefined;
  return {
    key: 'mcp-server',
    register(host) {
      host.contribute('route', 'mcp', {
        handle(request, ctx) {
          if (!server) throw new Error('The MCP endpoint has not started.');
          return handle(server, request, ctx);
        },
      });
    },
    async start(host) {
      server = await startServer(host);
    },
    async stop() {
      if (server) await closeServer(server);
    },
  };
}
