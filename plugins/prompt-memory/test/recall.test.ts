import { expect } from 'chai';
import { type FakeModel, fakeModel, says, user } from 'mortise/contracts/agent/testing';
import type { ToolFacts } from 'mortise/sdk';
import { contributing, createTestHost, eachDatabase, type TestHost } from 'mortise/sdk/testing';

const keys = {
  alice: { key: 'alice-key-0123456789', id: 'alice-laptop', actor: 'alice', spaces: ['team:red'] },
  bob: { key: 'bob-key-0123456789ab', id: 'bob-laptop', actor: 'bob', spaces: ['team:blue'] },
};
const on = { MORTISE_ENABLE_MEMORY_RECALL: 'true', MORTISE_API_KEYS: JSON.stringify(Object.values(keys)) };
const withMemory = ['memory-backend-local', 'memory-gateway', 'prompt-memory', 'channel-console'];

const facts: ToolFacts = { summary: 'x', audience: ['agent'], inputSchema: { type: 'object' } };

describe('memories in the prompt', () => {
  let host: TestHost;
  let model: FakeModel;

  async function start(options: Parameters<typeof createTestHost>[0]): Promise<void> {
    model = fakeModel(() => says('ok'));
    host = await createTestHost({ ...options, extra: [model.plugin, ...(options?.extra ?? [])] });
  }
  afterEach(() => host.stop());

  /** What the model was told about memories. */
  async function recalled(text: string, caller?: keyof typeof keys): Promise<string | undefined> {
    const body = { session_id: 's', user_id: caller ?? 'anna', input: [user(text)] };
    const response = await host.post('/agent/process', body, caller ? { 'x-api-key': keys[caller].key } : {});
    expect(response.status).to.equal(200);
    const contents = model.requests.at(-1)?.messages.map(({ content }) => content) ?? [];
    return contents
      .filter((content) => typeof content === 'string')
      .find((text) => text.startsWith('## runtime://memories'));
  }

  eachDatabase((engine) => {
    const store = (caller: keyof typeof keys, payload_md: string, target_space: string) =>
      host.post('/memory/store', { payload_md, target_space }, { 'x-api-key': keys[caller].key });

    it('are those that match the message and that its caller may read', async () => {
      await start({
        plugins: withMemory,
        database: engine.env,
        env: { ...on, MORTISE_RECALL_SPACES: 'private:{user},team:red' },
      });
      await store('alice', 'The heron nests in May.', 'private:alice');
      await store('bob', 'The heron is grey.', 'private:bob');
      const seen = await recalled('When does the heron nest?', 'alice');
      expect(seen).to.contain('The heron nests in May.').and.to.contain('private:alice');
      expect(seen).to.not.contain('grey');
      expect(await recalled('When does the heron nest?', 'bob'))
        .to.contain('grey')
        .and.to.not.contain('May');
      expect(await recalled('zebra', 'alice')).to.equal(undefined);
      // Bob may not use team:red: the search leaves it out, and nothing is refused.
      const { rows } = await host.service('audit').query({ action: 'reject' });
      expect(rows.filter(({ reason }) => reason === 'space_forbidden')).to.deep.equal([]);
    });
  });

  it('are left out unless the feature is on', async () => {
    await start({ plugins: withMemory });
    await host.post('/memory/store', { payload_md: 'The heron nests in May.', target_space: 'private:anna' });
    expect(await recalled('When does the heron nest?')).to.equal(undefined);
  });

  it('are left out when they cannot be found in time, and the turn goes on', async () => {
    const aborted: boolean[] = [];
    const never = contributing('tool', 'memory_query', facts, {
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(true);
            reject(signal.reason);
          });
        }),
    });
    const env = { MORTISE_ENABLE_MEMORY_RECALL: 'true', MORTISE_RECALL_TIME_LIMIT_MS: '20' };
    await start({ plugins: ['prompt-memory', 'channel-console'], extra: [never], env });
    expect(await recalled('When does the heron nest?')).to.equal(undefined);
    expect(aborted).to.not.deep.equal([]);
    expect(host.logs.join('')).to.contain('memories could not be recalled for a turn').and.contain('call_timeout');
  });

  it('are left out when the search fails, or when there is no memory gateway', async () => {
    let fails = true;
    const broken = contributing('tool', 'memory_query', facts, {
      run() {
        if (fails) throw new Error('secret detail');
        return { ok: true, results: [{ content: 'The heron is back.' }] };
      },
    });
    const env = { MORTISE_ENABLE_MEMORY_RECALL: 'true' };
    await start({ plugins: ['prompt-memory', 'channel-console'], extra: [broken], env });
    expect(await recalled('heron')).to.equal(undefined);
    fails = false;
    expect(await recalled('heron again')).to.contain('The heron is back.');
    await host.stop();
    await start({ plugins: ['prompt-memory', 'channel-console'], env });
    expect(await recalled('heron')).to.equal(undefined);
    expect(host.logs.join('')).to.not.contain('memories could not be recalled');
  });
});
