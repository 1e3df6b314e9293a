import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

describe('the conformance fixtures', () => {
  let host: TestHost;
  let client: Client;
  before(async () => {
    host = await createTestHost({ plugins: ['mcp-server', 'mcp-conformance'] });
    client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${host.origin}/mcp`)));
  });
  after(async () => {
    await client.close();
    await host.stop();
  });

  const toolNames = async () => (await client.listTools()).tools.map(({ name }) => name);
  const promptNames = async () => (await client.listPrompts()).prompts.map(({ name }) => name);
  const notification = (method: 'tools/list_changed' | 'prompts/list_changed' | 'resources/updated') =>
    new Promise<void>((resolve) => client.setNotificationHandler(`notifications/${method}`, async () => resolve()));

  it('add and remove a tool, and clients are notified', async () => {
    const subscription = await client.listen({ toolsListChanged: true });
    for (const isListed of [true, false]) {
      const notified = notification('tools/list_changed');
      await client.callTool({ name: 'test_trigger_tool_change' });
      await notified;
      expect((await toolNames()).includes('dynamic_tool')).to.equal(isListed);
    }
    await subscription.close();
  });

  it('add and remove a prompt, and clients are notified', async () => {
    const subscription = await client.listen({ promptsListChanged: true });
    for (const isListed of [true, false]) {
      const notified = notification('prompts/list_changed');
      await client.callTool({ name: 'test_trigger_prompt_change' });
      await notified;
      expect((await promptNames()).includes('dynamic_prompt')).to.equal(isListed);
    }
    await subscription.close();
  });

  it('announce a changed resource', async () => {
    const subscription = await client.listen({ resourceSubscriptions: ['test://watched-resource'] });
    const notified = notification('resources/updated');
    await client.callTool({ name: 'test_trigger_resource_update' });
    await notified;
    await subscription.close();
  });

  it('complete, and read any resource of the template', async () => {
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
    expect(completion.values).to.deep.equal(['paris', 'park', 'party']);
    const { contents } = await client.readResource({ uri: 'test://template/a%20b/data' });
    expect(JSON.parse(String(Reflect.get(contents[0] ?? {}, 'text')))).to.include({ id: 'a b' });
  });

  it('are removed when the plugin is disabled, and added when it is enabled', async () => {
    const names = async () => {
      const answer = await host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
      return JSON.stringify(await answer.json());
    };
    await host.control.disable('mcp-conformance');
    expect(await names()).not.to.include('greet');
    await host.control.enable('mcp-conformance');
    expect(await names()).to.include('greet');
  });
});
