import { Client, SSEClientTransport } from '@modelcontextprotocol/client';
import { exercise } from './exercise.mjs';

const client = new Client({ name: 'sdk-v2', version: '1.0.0' });
await client.connect(new SSEClientTransport(new URL(process.argv[2])));
try {
  await exercise('sdk-v2', (name, args) => client.callTool({ name, arguments: args }));
} finally {
  await client.close();
}
