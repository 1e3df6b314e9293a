import { createMCPClient } from '@ai-sdk/mcp';
import { exercise } from './exercise.mjs';

const client = await createMCPClient({ transport: { type: 'sse', url: process.argv[2] } });
const tools = await client.tools();
try {
  await exercise('ai-sdk', (name, args) => tools[name].execute(args, { toolCallId: name, messages: [] }));
} finally {
  await client.close();
}
