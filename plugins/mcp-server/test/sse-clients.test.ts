import { Client, SSEClientTransport } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, fakeMemory, type Probe } from './probe-plugin.js';

const facts = { name: 'test', version: '1.0.0' };

describe('the HTTP+SSE transport of the official SDKs', () => {
  let host: TestHost;
  let probe: Probe;
  before(async () => {
    probe = createProbe();
    host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin, fakeMemory()] });
  });
  let close: () => Promise<void>;
  afterEach(() => close());
  after(() => host.stop());

  it('serves the first generation', async () => {
    const client = new FirstClient(facts);
    close = () => client.close();
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      changes += 1;
    });
    await client.connect(new FirstTransport(new URL(`${host.origin}/mcp`)));
    expect((await client.listTools()).tools.map(({ name }) => name)).to.include('memory_store');
    const { structuredContent } = await client.callTool({ name: 'echo', arguments: { text: '上海' } });
    expect(structuredContent).to.deep.include({ ok: true, echoed: { text: '上海' } });
    // This client drops progress that arrives in one piece with the response.
    await client.callTool({ name: 'progress_and_wait' }, undefined, { onprogress: () => probe.release() });
    probe.toggleExtra();
    await until('the client hears of the change', () => changes === 1);
  });

  it('serves the second generation', async () => {
    const client = new Client(facts, { versionNegotiation: { mode: 'auto' } });
    close = () => client.close();
    await client.connect(new SSEClientTransport(new URL(`${host.origin}/mcp`)));
    const { structuredContent } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    expect(structuredContent).to.deep.include({ ok: true, echoed: { text: 'hi' } });
  });
});
