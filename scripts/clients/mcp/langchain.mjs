import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { exercise } from './exercise.mjs';

const client = new MultiServerMCPClient({ mcpServers: { mortise: { transport: 'sse', url: process.argv[2] } } });
const tools = await client.getTools();
try {
  await exercise('langchain', (name, args) => tools.find((tool) => tool.name === name).invoke(args));
} finally {
  await client.close();
}
