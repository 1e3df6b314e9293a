/**
 * The official SDK's server with one empty tool that has the schema of memory_query: the cost of `tools/call`
 * without a platform. Sends its port over IPC and ends with its parent.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

const facts = new URL('../../../../plugins/memory-gateway/tools/memory_query.json', import.meta.url);
const { summary, inputSchema } = JSON.parse(readFileSync(facts, 'utf8')) as {
  readonly summary: string;
  readonly inputSchema: Parameters<typeof fromJsonSchema>[0];
};
const schema = fromJsonSchema(inputSchema);

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'bare', version: '1.0.0' });
  server.registerTool('memory_query', { description: summary, inputSchema: schema }, async () => ({
    content: [{ type: 'text', text: '{"ok":true,"results":[],"total":0}' }],
  }));
  return server;
});

const listening = createServer(toNodeHandler(handler)).listen(0, '127.0.0.1', () => {
  process.send?.((listening.address() as AddressInfo).port);
});
process.on('disconnect', () => process.exit());
