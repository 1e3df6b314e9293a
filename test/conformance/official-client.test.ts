import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'chai';
import type { Json, MemoryHost } from 'mortise/contracts/memory-gateway/testing';
import { eachDatabase } from 'mortise/sdk/testing';
import { startMemory } from '../memory/memory-host.js';

const ADMIN_KEY = 'governance-key-0123456789';
const modes = [
  ['legacy', 'legacy'],
  ['auto', 'auto'],
  ['modern', { pin: '2026-07-28' }],
] as const;

describe('the official client with the memory tools', () => {
  eachDatabase(
    (engine) => {
      let memory: MemoryHost;
      before(async () => {
        memory = await startMemory(engine, { env: { GOVERNANCE_ADMIN_KEY: ADMIN_KEY } });
      });
      after(() => memory.stop());

      for (const [name, mode] of modes) {
        describe(`in ${name} mode`, () => {
          let client: Client;
          before(async () => {
            client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
            await client.connect(new StreamableHTTPClientTransport(new URL(`${memory.host.origin}/mcp`)));
            // The client validates results of the tools that it has listed.
            await client.listTools();
          });
          after(() => client.close());

          const call = async (tool: string, args: Json): Promise<Json> => {
            const result = await client.callTool({ name: tool, arguments: { ...args } });
            const [content] = result.content as readonly { readonly type: string; readonly text: string }[];
            expect(content?.type).to.equal('text');
            expect(JSON.parse(content?.text ?? '')).to.deep.equal(result.structuredContent);
            return { isError: result.isError === true, ...(result.structuredContent as Json) };
          };
          const space = `private:${name}`;

          it('lists the five tools', async () => {
            const { tools } = await client.listTools();
            expect(tools.map((tool) => tool.name)).to.deep.equal([
              'memory_store',
              'memory_query',
              'reliability_report',
              'governance_update',
              'evidence_upload',
            ]);
            for (const tool of tools) expect(tool.outputSchema).to.have.property('type', 'object');
          });

          it('stores a memory with uploaded evidence, and finds it', async () => {
            const uploaded = await call('evidence_upload', { content: `Seen by ${name}.`, content_type: 'text/plain' });
            expect(uploaded).to.deep.include({ ok: true, isError: false });
            const args = { payload_md: `The harbour of ${name} opens at six.`, target_space: space };
            const stored = await call('memory_store', { ...args, evidence: [uploaded.evidence] });
            expect(stored).to.deep.include({ ok: true, action: 'allow', space_written: space, isError: false });
            expect(stored.memory_id).to.match(/^mem_[0-9a-z]{26}$/);
            const found = await call('memory_query', { query: 'harbour', spaces: [space] });
            expect(found).to.deep.include({ ok: true, total: 1, degraded: false });
            const again = await call('memory_store', { ...args, evidence: [uploaded.evidence] });
            expect(again).to.deep.include({ ok: true, dedup: true, memory_id: stored.memory_id });
          });

          it('gets refusals as errors of the tool or of the call', async () => {
            const refused = await call('memory_store', { payload_md: 'Nowhere.', target_space: 'foo:bar' });
            expect(refused).to.deep.include({ ok: false, action: 'reject', isError: true });
            const denied = await call('governance_update', { admin_key: 'wrong' });
            expect(denied).to.deep.include({ ok: false, action: 'reject', isError: true });
            const missing = await call('evidence_upload', {});
            expect(missing).to.deep.include({ ok: false, error_code: 'MISSING_REQUIRED_PARAMETER', isError: true });
            const wrong = { code: -32602, reason: 'MISSING_REQUIRED_PARAM' };
            if (client.getProtocolEra() === 'modern') {
              expect(await call('memory_store', {})).to.deep.include({ ok: false, isError: true, ...wrong });
            } else {
              const failure = await client
                .callTool({ name: 'memory_store', arguments: {} })
                .catch(({ code, data }: { code: number; data: Json }) => ({ code, reason: data.reason }));
              expect(failure).to.deep.equal(wrong);
            }
          });

          it('changes the policy and reads the report', async () => {
            const changed = await call('governance_update', { admin_key: ADMIN_KEY, policy_json: { note: name } });
            expect(changed).to.deep.include({ ok: true, action: 'allow', isError: false });
            const report = await call('reliability_report', {});
            expect(report).to.deep.include({ ok: true, message: null });
          });
        });
      }
    },
    { keepRows: true },
  );
});
