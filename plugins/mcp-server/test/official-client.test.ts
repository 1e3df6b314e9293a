import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { createProbe, fakeMemory, type Probe } from './probe-plugin.js';

const modes = [
  { name: 'legacy', mode: 'legacy', revision: 'legacy' },
  { name: 'auto', mode: 'auto', revision: 'modern' },
  { name: 'modern', mode: { pin: '2026-07-28' }, revision: 'modern' },
] as const;

for (const { name, mode, revision } of modes) {
  describe(`the official client in ${name} mode`, () => {
    let host: TestHost;
    let probe: Probe;
    let client: Client;
    let transport: StreamableHTTPClientTransport;
    const problems: Error[] = [];
    before(async () => {
      probe = createProbe();
      host = await createTestHost({ plugins: ['mcp-server'], extra: [probe.plugin, fakeMemory()] });
      client = new Client(
        { name: 'test', version: '1.0.0' },
        { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
      );
      client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }));
      client.onerror = (error) => void problems.push(error);
      transport = new StreamableHTTPClientTransport(new URL(`${host.origin}/mcp`));
      await client.connect(transport);
    });
    after(async () => {
      await client.close();
      await host.stop();
    });

    it('connects with the expected protocol revision', () => {
      expect(client.getProtocolEra()).to.equal(revision);
      expect(transport.sessionId === undefined).to.equal(revision === 'modern');
      expect(client.getServerVersion()?.name).to.equal('mortise');
    });

    it('lists tools', async () => {
      const { tools } = await client.listTools();
      expect(tools.slice(0, 5).map((tool) => tool.name)).to.deep.equal([
        'memory_store',
        'memory_query',
        'reliability_report',
        'governance_update',
        'evidence_upload',
      ]);
    });

    it('calls tools', async () => {
      const result = await client.callTool({ name: 'echo', arguments: { text: '上海' } });
      expect(result.structuredContent).to.deep.include({ ok: true, echoed: { text: '上海' } });
    });

    it('gets errors with their reason', async () => {
      const errorOf = async (call: { name: string; arguments?: Record<string, unknown> }) => {
        try {
          await client.callTool(call);
          return undefined;
        } catch (error) {
          return error as { code: number; data: { reason: string } };
        }
      };
      expect(await errorOf({ name: 'nope' })).to.deep.include({ code: -32602 });
      if (revision === 'legacy') {
        expect((await errorOf({ name: 'echo', arguments: { text: 5 } }))?.data.reason).to.equal('INVALID_PARAM_TYPE');
      }
      expect((await errorOf({ name: 'backend_down' }))?.code).to.equal(revision === 'modern' ? -31001 : -32001);
    });

    it('gets a coded error of a tool as a tool result', async () => {
      const { isError, structuredContent } = await client.callTool({ name: 'declares' });
      expect(isError).to.equal(true);
      expect(structuredContent).to.deep.include({ ok: false, code: 'quota_used_up' });
    });

    if (revision === 'modern')
      it('gets refused arguments as a tool result', async () => {
        const { isError, structuredContent } = await client.callTool({ name: 'echo', arguments: { text: 5 } });
        expect(isError).to.equal(true);
        expect(structuredContent).to.deep.include({ ok: false, code: -32602, reason: 'INVALID_PARAM_TYPE' });
      });

    it('receives progress', async () => {
      const seen: number[] = [];
      await client.callTool({ name: 'progresses' }, { onprogress: ({ progress }) => void seen.push(progress) });
      expect(seen).to.deep.equal([1, 2, 3]);
    });

    it('answers questions of a tool', async () => {
      const result = await client.callTool({ name: 'asks' });
      expect(result.structuredContent).to.deep.include({ answer: { action: 'accept', content: { name: 'Ada' } } });
    });

    it('reads prompts and resources, and completes', async () => {
      expect((await client.listPrompts()).prompts[0]?.name).to.equal('hello');
      const prompt = await client.getPrompt({ name: 'hello', arguments: { name: 'Ada' } });
      expect(prompt.messages[0]?.content).to.deep.include({ text: 'Hello Ada' });
      expect((await client.readResource({ uri: 'probe://note' })).contents[0]).to.deep.include({ text: 'A note.' });
      const done = await client.complete({
        ref: { type: 'ref/prompt', name: 'hello' },
        argument: { name: 'name', value: 'B' },
      });
      expect(done.completion.values).to.deep.equal(['Bob']);
    });

    it('is notified of changed tools', async () => {
      let changes = 0;
      client.setNotificationHandler('notifications/tools/list_changed', async () => {
        changes += 1;
      });
      const subscription = revision === 'modern' ? await client.listen({ toolsListChanged: true }) : undefined;
      // The older client opens its stream on its own after the handshake, without saying when it is there.
      await until('the client hears of the change', async () => {
        probe.toggleExtra();
        await new Promise((resolve) => setTimeout(resolve, 20));
        return changes > 0;
      });
      await subscription?.close();
    });

    it('reported no errors', () => {
      expect(problems.map((problem) => problem.message)).to.deep.equal([]);
    });
  });
}
