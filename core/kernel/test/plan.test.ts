import { expect } from 'chai';
import fc from 'fast-check';
import { problem } from '../../messages/plugin-problems.js';
import type { PluginManifest } from '../../sdk/manifest.js';
import { extensionPoints } from '../../sdk/points/declarations.js';
import { makePlan, type PlanInput } from '../plan.js';
import { entryOf } from './kernel-fixture.js';

type Facts = Partial<PluginManifest> & { readonly key: string };

function plan(plugins: readonly Facts[], more: Partial<PlanInput> = {}) {
  const { plugins: planned } = makePlan({
    catalogue: plugins.map((manifest) => entryOf({ manifest, definition: () => undefined })),
    enabled: new Set(plugins.map(({ key }) => key)),
    bindings: new Map(),
    points: extensionPoints,
    schemaProblem: () => null,
    hostServices: ['database'],
    ownProblem: () => null,
    stuck: () => undefined,
    ...more,
  });
  return {
    order: [...planned.keys()],
    tiers: Object.fromEntries([...planned].map(([key, { tier }]) => [key, tier])),
    codes: Object.fromEntries([...planned].map(([key, { problem }]) => [key, problem?.code ?? null])),
    message: (key: string) => planned.get(key)?.problem?.message,
  };
}

const route = (path: string, method: string | readonly string[] = 'GET') => ({
  routes: [{ name: 'it', kind: 'http', method, path, auth: 'public' }] as const,
});

describe('the plan', () => {
  it('orders every plugin after its requirements', () => {
    const { tiers, order } = plan([
      { key: 'top', requires: ['middle', 'base'] },
      { key: 'middle', requires: ['base'] },
      { key: 'base' },
    ]);
    expect(tiers).to.deep.equal({ base: 0, middle: 1, top: 2 });
    expect(order).to.deep.equal(['base', 'middle', 'top']);
  });

  it('excludes disabled plugins and their dependants', () => {
    const { codes } = plan([{ key: 'a', requires: ['b'] }, { key: 'b' }, { key: 'c', requires: ['a'] }], {
      enabled: new Set(['a', 'c']),
    });
    expect(codes).to.deep.equal({ a: 'dependency_disabled', c: 'dependency_not_active' });
  });

  it('names the missing plugin', () => {
    expect(plan([{ key: 'a', requires: ['gone'] }]).message('a')).to.include('"gone"');
  });

  it('includes the mounts of a plugin and of its required and optional plugins', () => {
    const mounted = (key: string, more: Partial<PluginManifest> = {}): Facts => ({
      key,
      permissions: { routes: [{ name: key, kind: 'http', path: `/${key}`, auth: 'public', mount: 'rest' }] },
      ...more,
    });
    const owner: Facts = { key: 'owner', mounts: [{ name: 'rest' }] };
    const { codes, message } = plan([
      owner,
      mounted('own', { mounts: [{ name: 'rest' }] }),
      mounted('requiring', { requires: ['owner'] }),
      mounted('optional', { optional: ['owner'] }),
      mounted('absent', { optional: ['not-installed'] }),
      mounted('stranger'),
      mounted('wrong', { mounts: [{ name: 'other' }] }),
    ]);
    const { stranger, wrong, ...others } = codes;
    expect([stranger, wrong]).to.deep.equal(['mount_unknown', 'mount_unknown']);
    expect(Object.values(others)).to.deep.equal([null, null, null, null, null]);
    expect(message('stranger')).to.include('"rest"');
  });

  it('blocks plugins that declare the schema of another one, except shipped plugins', () => {
    const uses = (key: string, schema: string) => ({ key, permissions: { schemas: [schema] } });
    const made = [
      uses('ledger', 'books'),
      uses('report', 'books'),
      uses('thief', 'books'),
      uses('one', 'mine'),
      uses('two', 'mine'),
    ];
    const catalogue = [...made, uses('own', 'own')].map((manifest) => {
      const entry = entryOf({ manifest, definition: () => undefined });
      return ['ledger', 'report'].includes(manifest.key) ? { ...entry, source: 'first-party' as const } : entry;
    });
    const enabled = new Set(['report', 'thief', 'one', 'two', 'own']);
    const { codes, message } = plan([], { catalogue, enabled });
    const taken = 'schema_taken';
    expect(codes).to.deep.equal({ one: taken, own: null, report: null, thief: taken, two: taken });
    expect(message('thief')).to.include('"books"').and.to.include('"ledger"');
  });

  it('reports no unknown mount when its owner is enabled and not installed', () => {
    const entry = (key: string, more: Partial<PluginManifest> = {}) => {
      const routes = [{ name: key, kind: 'http', path: `/${key}`, auth: 'public', mount: 'rest' }] as const;
      return entryOf({ manifest: { key, permissions: { routes }, ...more }, definition: () => undefined });
    };
    const missing = { ...entry('gone'), manifest: null, problem: problem('plugin_missing', 'gone') };
    const { codes } = plan([], {
      catalogue: [entry('a', { requires: ['gone'] }), entry('b', { optional: ['gone'] }), missing],
      enabled: new Set(['a', 'b', 'gone']),
    });
    expect(codes).to.deep.equal({ a: 'dependency_not_active', b: null, gone: 'plugin_missing' });
  });

  it('spreads a problem to all dependants, and to no other plugin', () => {
    const { codes } = plan(
      [{ key: 'bad' }, { key: 'near', requires: ['bad'] }, { key: 'far', requires: ['near'] }, { key: 'other' }],
      { ownProblem: ({ key }) => (key === 'bad' ? problem('safe_mode') : null) },
    );
    expect(codes).to.deep.equal({
      bad: 'safe_mode',
      near: 'dependency_not_active',
      far: 'dependency_not_active',
      other: null,
    });
  });

  it('reports that a requirement has failed', () => {
    const planned = plan([{ key: 'bad' }, { key: 'near', requires: ['bad'] }], {
      ownProblem: ({ key }) => (key === 'bad' ? problem('start_failed', 'no') : null),
      stuck: (key) => (key === 'bad' ? 'failed' : undefined),
    });
    expect(planned.message('near')).to.equal('It requires the plugin "bad", which is failed.');
  });

  it('refuses keys outside the grammar of their point, and reserved ones', () => {
    const channel = (key: string): string | null | undefined =>
      plan([{ key: 'one', contributes: { channel: [key] } }]).codes.one;
    expect(['qq', 'wsx', 'x-ws'].map(channel)).to.deep.equal([null, null, null]);
    expect(['ws', 'WS', 'a.b'].map(channel)).to.deep.equal(Array(3).fill('contribution_key'));
  });

  it('reports the cycle of each plugin in it, and blocks dependants', () => {
    const planned = plan([
      { key: 'a', requires: ['b'] },
      { key: 'b', requires: ['c'] },
      { key: 'c', requires: ['a'] },
      { key: 'd', requires: ['a'] },
    ]);
    expect(planned.codes).to.deep.equal({
      a: 'dependency_cycle',
      b: 'dependency_cycle',
      c: 'dependency_cycle',
      d: 'dependency_not_active',
    });
    expect(planned.message('b')).to.include('b -> c -> a -> b.');
  });

  it('reports a cycle for exactly the plugins that can be reached from themselves', () => {
    const graph = fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 16 });
    fc.assert(
      fc.property(graph, (edges) => {
        const keys = Array.from({ length: 7 }, (_, index) => `p${index}`);
        const needs = (key: string) => [
          ...new Set(edges.filter(([from]) => `p${from}` === key).map(([, to]) => `p${to}`)),
        ];
        const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
          needs(from).some((next) => {
            if (next === to) return true;
            if (seen.has(next)) return false;
            seen.add(next);
            return reaches(next, to, seen);
          });
        const { codes } = plan(keys.map((key) => ({ key, requires: needs(key) })));
        for (const key of keys) expect(codes[key] === 'dependency_cycle', key).to.equal(reaches(key, key));
      }),
    );
  });

  describe('of a key that two plugins claim', () => {
    const both: readonly Facts[] = [
      { key: 'one', contributes: { tool: ['web-search'] } },
      { key: 'two', contributes: { tool: ['web_search'] } },
    ];

    it('starts neither', () => {
      const { codes, message } = plan(both);
      expect(codes).to.deep.equal({ one: 'key_conflict', two: 'key_conflict' });
      expect(message('one')).to.include('tool:web-search').and.to.include('"one", "two"');
    });

    it('starts the one it is bound to, in any spelling', () => {
      for (const claim of ['tool:web-search', 'tool:web_search']) {
        const { codes } = plan(both, { bindings: new Map([[claim, 'two']]) });
        expect(codes).to.deep.equal({ one: 'key_bound_elsewhere', two: null });
      }
    });

    it('starts neither when it is bound to a third', () => {
      const { codes } = plan(both, { bindings: new Map([['tool:web-search', 'three']]) });
      expect(codes).to.deep.equal({ one: 'key_conflict', two: 'key_conflict' });
    });

    it('ignores disabled claimants', () => {
      expect(plan(both, { enabled: new Set(['one']) }).codes).to.deep.equal({ one: null });
    });

    it('distinguishes routes by method and path, not by the names of their parameters', () => {
      const with2 = (path: string, method?: string | readonly string[]) =>
        plan([
          { key: 'one', permissions: route('/chats/:id') },
          { key: 'two', permissions: route(path, method) },
        ]).codes;
      expect(with2('/chats/:chat_id')).to.deep.equal({ one: 'key_conflict', two: 'key_conflict' });
      expect(with2('/chats/:chat_id', ['POST', 'GET'])).to.deep.equal({ one: 'key_conflict', two: 'key_conflict' });
      expect(with2('/chats/:chat_id', 'POST')).to.deep.equal({ one: null, two: null });
      expect(with2('/chats/:chat_id/history')).to.deep.equal({ one: null, two: null });
    });

    it('includes services and equal patterns', () => {
      expect(
        plan([
          { key: 'one', provides: ['audit'] },
          { key: 'two', provides: ['audit'] },
        ]).codes,
      ).to.deep.equal({
        one: 'key_conflict',
        two: 'key_conflict',
      });
      const pattern = { contributes: { tool: ['mcp__*'] } };
      expect(
        plan([
          { key: 'one', ...pattern },
          { key: 'two', ...pattern },
        ]).codes,
      ).to.deep.equal({ one: 'key_conflict', two: 'key_conflict' });
    });
  });
});
