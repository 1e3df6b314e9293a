import { expect } from 'chai';
import type { Principal } from 'mortise/sdk';
import { createTestHost, type TestHost, type TestPlugin, until } from 'mortise/sdk/testing';

const alice: Principal = { id: 'alice-laptop', actor: 'alice', admin: false, loopback: true, authenticated: true };

/** A tool that returns its principal, and one that calls it with or without its context. */
const asking: TestPlugin = {
  manifest: { key: 'asking', contributes: { tool: ['whoami', 'ask'] } },
  definition: {
    key: 'asking',
    start(own) {
      const facts = { summary: 'x', audience: ['agent'], inputSchema: { type: 'object' } } as const;
      own.contribute('tool', 'whoami', { ...facts, run: async (_, ctx) => ctx.principal.id });
      own.contribute('tool', 'ask', {
        ...facts,
        run: ({ forward }, ctx) =>
          own.points.call('tool', 'whoami', (tool, inner) => tool.run({}, inner as typeof ctx), forward ? ctx : {}),
      });
    },
  },
};

describe('work of a plugin', () => {
  let host: TestHost;
  afterEach(() => host.stop());

  it('runs for the principal of its call, and is refused without one', async () => {
    host = await createTestHost({ extra: [asking], listen: false });
    const ask = (forward: boolean) =>
      host.points.call('tool', 'ask', (tool, ctx) => tool.run({ forward }, ctx as Parameters<typeof tool.run>[1]), {
        principal: alice,
      });
    expect(await ask(true)).to.equal('alice-laptop');
    const error = await ask(false).catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'principal_missing' });
  });

  it('for events of an input adapter runs for the user they name, otherwise for an adapter without spaces', async () => {
    let publish: ((event: unknown) => unknown) | undefined;
    const seen: Principal[] = [];
    host = await createTestHost({
      plugins: ['conversation'],
      listen: false,
      extra: [
        {
          manifest: {
            key: 'shop',
            requires: ['conversation'],
            contributes: {
              'input-adapter': [{ key: 'shop', facts: {} }],
              'observation-handler': [{ key: 'shop', facts: { types: ['message'] } }],
            },
          },
          definition: {
            key: 'shop',
            register(own) {
              own.contribute('input-adapter', 'shop', {
                start: async (take: typeof publish) => {
                  publish = take;
                },
                stop: async () => undefined,
              } as never);
              own.contribute('observation-handler', 'shop', {
                types: ['message'],
                handle: async (_: unknown, ctx: { readonly principal: Principal }) => void seen.push(ctx.principal),
              } as never);
            },
          },
        },
      ],
    });
    await until('the adapter', () => publish !== undefined);
    const event = { obs_type: 'message', source_name: 'shop', payload: { text: 'hi' } };
    publish?.({ ...event, session_key: 'one', actor: { actor_type: 'user', actor_id: 'alice' } });
    publish?.({ ...event, session_key: 'two' });
    await until('both events', () => seen.length === 2);
    expect(seen.map(({ id, actor, spaces, admin }) => ({ id, actor, spaces, admin }))).to.deep.equal([
      { id: 'adapter:shop', actor: 'alice', spaces: undefined, admin: false },
      { id: 'adapter:shop', actor: undefined, spaces: [], admin: false },
    ]);
  });
});
