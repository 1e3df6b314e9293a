import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { exercise } from './exercise.mjs';

const client = new Client({ name: 'sdk-v1', version: '1.0.0' });
await client.connect(new SSEClientTransport(new URL(process.argv[2])));
try {
  await exercise('sdk-v1', (name, args) => client.callTool({ name, arguments: args }));
} finally {
  await client.close();
}
