import { expect } from 'chai';
import fc from 'fast-check';
import { extensionPoints } from '../../sdk/points/declarations.js';
import { CallStats } from '../lease.js';
import { LeaseBook, LeaseSweep } from '../lease-book.js';
import { type Registered, Registry } from '../registry.js';
import { type MadeKernel, plugin as made, makeKernel } from './kernel-fixture.js';

const points = ['tool', 'command', 'channel'] as const;

describe('the registry', () => {
  it('shows each reader all contributions of a plugin to a point, or none', () => {
    const swaps = fc.array(fc.tuple(fc.nat(5), fc.boolean()), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(swaps, (steps) => {
        const registry = new Registry(extensionPoints);
        const held = new Map<number, readonly Registered[]>();
        const look = (): void => {
          for (const point of points) {
            const byPlugin = Map.groupBy(registry.all(point), (one) => one.plugin);
            for (const [key, own] of byPlugin) {
              expect(own, `${key} at ${point}`).to.have.length(3);
              for (const one of own) expect(registry.find(point, one.key)).to.equal(one);
            }
          }
        };
        for (const point of points) registry.onChange(point, look);
        for (const [plugin, add] of steps) {
          const before = held.get(plugin);
          if (add === (before !== undefined)) continue;
          const own = before ?? points.flatMap((point) => [0, 1, 2].map((n) => contribution(point, plugin, n)));
          const reader = registry.all('tool');
          const copy = [...reader];
          if (add) registry.swap(own, new Set());
          else registry.swap([], new Set(own));
          expect(reader, 'the snapshot of a reader').to.deep.equal(copy);
          if (add) held.set(plugin, own);
          else held.delete(plugin);
          look();
        }
      }),
    );
  });

  it('changes several points in one step', () => {
    const registry = new Registry(extensionPoints);
    const seen: string[] = [];
    for (const point of points)
      registry.onChange(point, () => seen.push(points.map((one) => registry.all(one).length).join(' ')));
    registry.swap(
      points.map((point) => contribution(point, 0, 0)),
      new Set(),
    );
    expect(seen).to.deep.equal(['1 1 1', '1 1 1', '1 1 1']);
  });

  it('finds a private key by its plugin, and without one the first with that name', () => {
    const registry = new Registry(extensionPoints);
    const named = (plugin: string): Registered => ({ ...contribution('route', 0, 0), plugin, key: 'to_list' });
    const [one, other] = [named('a_one'), named('b')];
    registry.swap([other, one], new Set());
    expect(registry.address('tool', 'a_one', 'to_list')).to.equal('to_list');
    const address = registry.address('route', 'a_one', 'to_list');
    expect([address, registry.find('route', address)]).to.deep.equal(['a_one/to_list', one]);
    expect(registry.find('route', 'a-one/to-list')).to.equal(one);
    expect(registry.find('route', 'b/to_list')).to.equal(other);
    expect(registry.find('route', 'to_list')).to.equal(one);
    registry.swap([], new Set([one]));
    expect(registry.find('route', 'a_one/to_list')).to.equal(undefined);
    expect(registry.find('route', 'to-list')).to.equal(other);
  });

  it('lists by plugin and key, and finds either spelling', () => {
    const registry = new Registry(extensionPoints);
    registry.swap([contribution('tool', 1, 1), contribution('tool', 0, 2), contribution('tool', 1, 0)], new Set());
    expect(registry.all('tool').map((one) => one.key)).to.deep.equal(['p0_2', 'p1_0', 'p1_1']);
    expect(registry.find('tool', 'p0-2')?.key).to.equal('p0_2');
    expect(registry.find('tool', 'p0_2')?.key).to.equal('p0_2');
  });
});

describe('publishing', () => {
  let kernel: MadeKernel;
  afterEach(() => kernel.stop());

  it('shows no contribution of a plugin before its start has ended, and then all of register and start', async () => {
    let finish: () => void = () => undefined;
    const tool = { summary: 'It.', audience: ['mcp'] as const, inputSchema: { type: 'object' }, run: () => ({}) };
    kernel = makeKernel(
      [
        made(
          { key: 'two-tools', contributes: { tool: ['early', 'late'] } },
          {
            register: (host) => void host.contribute('tool', 'early', tool),
            start: async (host) => {
              await new Promise<void>((resolve) => {
                finish = resolve;
              });
              host.contribute('tool', 'late', tool);
            },
          },
        ),
      ],
      ['two-tools'],
    );
    const seen = new Set<string>();
    kernel.kernel.registry.onChange('tool', () => seen.add(kernel.kernel.points.keys('tool').join(' ')));
    const booted = kernel.kernel.boot();
    while (kernel.state('two-tools') !== 'starting') await new Promise((resolve) => setImmediate(resolve));
    expect(kernel.kernel.points.keys('tool')).to.deep.equal([]);
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    await booted;
    expect([...seen]).to.deep.equal(['early late']);
  });
});

function contribution(point: string, plugin: number, index: number): Registered {
  const leases = new LeaseBook(`p${plugin}`, {
    monotonic: () => 0,
    logFor: () => {
      throw new Error('No log here.');
    },
    startSpan: () => undefined,
    onIgnoredAbort: () => true,
    sweep: new LeaseSweep(() => 0),
  });
  return {
    point,
    key: `p${plugin}_${index}`,
    plugin: `p${plugin}`,
    value: {},
    wrap: () => ({}),
    facts: {},
    offers: [],
    leases,
    stats: new CallStats(),
    timeoutMs: 0,
  };
}
