import { expect } from 'chai';
import type { MemoryPolicy, MemoryPolicyRequest } from 'mortise/contracts/memory-gateway';
import type { PluginDefinition } from 'mortise/sdk';
import { eachDatabase, type TestPlugin } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const seen: MemoryPolicyRequest[] = [];

const checks: Readonly<Record<string, MemoryPolicy>> = {
  last: {
    order: 20,
    tools: ['memory_store'],
    run: ({ content }) =>
      content.includes('both')
        ? { kind: 'redirect', space: 'private:last', reason: 'second', message: 'it is late' }
        : { kind: 'pass' },
  },
  first: {
    order: 10,
    tools: ['memory_store'],
    run(request) {
      seen.push(request);
      if (request.content.includes('forbidden'))
        return { kind: 'reject', reason: 'words', message: 'the word is not welcome' };
      if (request.content.includes('broken')) throw new Error('a bug');
      if (request.content.includes('for ever')) return new Promise(() => {});
      if (request.content.includes('team'))
        return { kind: 'redirect', space: 'team:other', reason: 'own-words:moved', message: 'it belongs there' };
      if (request.content.includes('both'))
        return { kind: 'redirect', space: 'private:first', reason: 'first', message: 'it is early' };
      return { kind: 'pass' };
    },
  },
  elsewhere: {
    order: 0,
    tools: ['evidence_upload'],
    run: () => ({ kind: 'reject', reason: 'x', message: 'never asked' }),
  },
};

const definition: PluginDefinition = {
  key: 'own-words',
  register(host) {
    for (const [key, check] of Object.entries(checks)) host.contribute('memory-policy', key, check);
  },
};
const ownWords: TestPlugin = {
  manifest: { key: 'own-words', contributes: { 'memory-policy': Object.keys(checks) } },
  definition,
};

describe('memory-policy checks', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine, { extra: [ownWords] });
        await gateway.govern(false);
      });
      after(() => gateway.stop());

      const store = async (text: string) =>
        (await gateway.store({ payload_md: text, target_space: 'private:me' })).body;

      it('receive the request, and can pass it', async () => {
        expect(await store('welcome')).to.deep.include({ ok: true, action: 'allow', reason: 'policy:private_space' });
        expect(seen.at(-1)).to.deep.include({ tool: 'memory_store', requestedSpace: 'private:me', content: 'welcome' });
      });

      it('refuse with a reason that has the key of their plugin', async () => {
        expect(await store('forbidden')).to.deep.include({
          action: 'reject',
          reason: 'own-words:words',
          message: 'Rejected by policy: the word is not welcome (own-words:words).',
        });
      });

      it('redirect to a space that the policy must allow as well', async () => {
        expect(await store('for the team')).to.deep.include({
          action: 'redirect',
          space_written: 'private:unknown',
          reason: 'own-words:moved',
        });
        await gateway.govern(true, { require_evidence: false });
        expect(await store('for the whole team')).to.deep.include({ action: 'redirect', space_written: 'team:other' });
        await gateway.govern(false);
      });

      it('run in their order: the last space wins, the first reason is reported', async () => {
        expect(await store('both')).to.deep.include({ space_written: 'private:last', reason: 'own-words:first' });
      });

      it('refuse when they exceed their time limit', async () => {
        const { body } = await gateway.store({ payload_md: 'for ever', target_space: 'private:me' });
        expect(body).to.deep.include({ ok: false, action: 'reject', reason: 'internal_error' });
      });

      it('refuse when they are broken', async () => {
        expect(await store('broken')).to.deep.include({ ok: false, action: 'reject', reason: 'internal_error' });
        expect(await gateway.count('logbook.memories', `payload_md = 'broken'`)).to.equal(0);
      });
    },
    { keepRows: true },
  );
});
