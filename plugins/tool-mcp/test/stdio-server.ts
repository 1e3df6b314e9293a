import { readFileSync, writeFileSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** An MCP server on stdio. The description of its tool `greet` is the content of the file that is its first argument. */
const [, , file = ''] = process.argv;
const text = { type: 'string' } as const;
const server = new Server(
  { name: 'stdio-fixture', version: '1.0.0' },
  { capabilities: { tools: { listChanged: true } } },
);

const schema = (properties: Record<string, typeof text> = {}) => ({ type: 'object' as const, properties });

server.setRequestHandler('tools/list', async () => ({
  tools: [
    {
      name: 'greet',
      description: readFileSync(file, 'utf8'),
      inputSchema: { ...schema({ name: text }), required: ['name'] },
    },
    { name: 'reword', description: 'Rewords.', inputSchema: schema({ to: text }) },
    { name: 'environment', description: 'Its variables.', inputSchema: schema() },
    { name: 'fail', description: 'Fails.', inputSchema: schema() },
    { name: 'leave', description: 'Ends the server.', inputSchema: schema() },
  ],
}));

server.setRequestHandler('tools/call', async ({ params }) => {
  const { name, to } = (params.arguments ?? {}) as { name?: string; to?: string };
  const says = (value: string, isError = false) => ({ content: [{ type: 'text' as const, text: value }], isError });
  switch (params.name) {
    case 'greet':
      return says(`hello ${name}`);
    case 'environment':
      return says(Object.keys(process.env).join(' '));
    case 'reword':
      writeFileSync(file, to ?? '');
      await server.sendToolListChanged();
      return says('done');
    case 'leave':
      return process.exit(0);
    default:
      return says('it failed', true);
  }
});

await server.connect(new StdioServerTransport());
