import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { exercise } from './exercise.mjs';

const folder = import.meta.dirname;
const facts = createRequire(import.meta.url)(join(folder, 'node_modules', 'mcp-remote', 'package.json'));
const proxy = join(folder, 'node_modules', 'mcp-remote', facts.bin['mcp-remote']);
const client = new Client({ name: 'mcp-remote', version: '1.0.0' });
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [proxy, process.argv[2], '--transport', 'sse-first', '--allow-http'],
  env: { ...process.env, MCP_REMOTE_CONFIG_DIR: join(dirname(folder), 'mcp-remote') },
});
await client.connect(transport);
try {
  await exercise('mcp-remote', (name, args) => client.callTool({ name, arguments: args }));
} finally {
  await client.close();
}
