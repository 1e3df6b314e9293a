import { expect } from 'chai';
import fc from 'fast-check';
import type { DesiredStore } from '../../kernel/deps.js';
import { echoPlugin, type MadeKernel, makeKernel } from '../../kernel/test/kernel-fixture.js';
import { until } from '../../sdk/testing/until.js';
import type { Desired } from '../../settings/types.js';

describe('toggles', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  it('starts the requirements of a plugin before it and stops them after it', async () => {
    const notes: string[] = [];
    made = makeKernel(
      [
        echoPlugin('a', { notes }),
        echoPlugin('b', { requires: ['a'], notes }),
        echoPlugin('c', { requires: ['b'], notes }),
      ],
      ['a', 'b', 'c'],
    );
    await made.kernel.boot();
    await made.control.disable('a', { cascade: true });
    expect(notes).to.deep.equal(['start a', 'start b', 'start c', 'stop c', 'stop b', 'stop a']);
  });

  it('refuses to disable a plugin that others need, and names them', async () => {
    made = makeKernel([echoPlugin('a'), echoPlugin('b', { requires: ['a'] })], ['a', 'b']);
    await made.kernel.boot();
    const error = await made.control.disable('a').catch((caught: unknown) => caught);
    expect(error).to.include({ code: 'plugin_has_dependants', status: 409 });
    expect(made.control.list().map((row) => row.state)).to.deep.equal(['active', 'active']);
  });

  it('drains a call in flight when its plugin is disabled, and leaves every other plugin untouched', async () => {
    let finish: (value: object) => void = () => undefined;
    made = makeKernel([echoPlugin('other'), slowPlugin((resolve) => (finish = resolve))], ['other', 'slow']);
    await made.kernel.boot();
    const before = made.control.list().find((row) => row.key === 'other');
    const call = made.kernel.points.call('tool', 'slow', (tool, ctx) => tool.run({}, { ...ctx, caller: 'mcp' }));
    const disabled = made.control.disable('slow');
    await until(() => made.control.list().some((row) => row.key === 'slow' && row.state === 'draining'));
    expect(made.kernel.points.keys('tool')).to.deep.equal(['other']);
    finish({ done: true });
    expect(await call).to.deep.equal({ done: true });
    expect((await disabled).state).to.equal('disabled');
    expect(made.control.list().find((row) => row.key === 'other')).to.deep.equal(before);
  });

  it('disables a plugin whose start hangs, and continues with the others', async () => {
    const begun: string[] = [];
    const hangs = echoPlugin('hangs', {
      start: () => {
        begun.push('hangs');
        return new Promise<never>(() => undefined);
      },
    });
    const patient = { ...hangs, manifest: { ...hangs.manifest, timeouts: { start: 120_000 } } };
    made = makeKernel([patient, echoPlugin('other')], ['hangs']);
    const booted = made.kernel.boot();
    await until(() => begun.length === 1);
    const enabled = made.control.enable('other');
    const disabled = made.control.disable('hangs');
    expect([(await disabled).state, (await enabled).state]).to.deep.equal(['disabled', 'active']);
    await booted;
    expect([begun.length, made.state('hangs')]).to.deep.equal([1, 'disabled']);
  });

  it('ends a start that hangs once the desired state leaves its plugin out', async () => {
    let begun = false;
    const start = (): Promise<never> => {
      begun = true;
      return new Promise<never>(() => undefined);
    };
    made = makeKernel([echoPlugin('hangs', { start })], ['hangs']);
    const booted = made.kernel.boot();
    await until(() => begun);
    await made.want(() => ({ plugins: { hangs: { enabled: false } } }));
    await booted;
    expect(made.state('hangs')).to.equal('disabled');
  });

  it('reconciles after a change that failed halfway', async () => {
    let wanted: Desired = { version: 1, revision: 1, plugins: { a: { enabled: true } }, bindings: {}, renamed: {} };
    const desired: DesiredStore = {
      get current() {
        return wanted;
      },
      subscribe: () => ({ dispose: () => undefined }),
      write: async (change) => {
        wanted = change(wanted);
        throw new Error('the disk is full');
      },
    };
    made = makeKernel([echoPlugin('a')], ['a'], { desired });
    await made.kernel.boot();
    const error = await made.control.disable('a').catch((caught: unknown) => caught);
    expect(String(error)).to.include('the disk is full');
    expect(made.control.list().map((row) => [row.desired, row.state])).to.deep.equal([['disabled', 'disabled']]);
  });

  it('handles 50 concurrent toggles and ends in the last requested state', async () => {
    const keys = Array.from({ length: 10 }, (_, index) => `p${index}`);
    made = makeKernel(
      keys.map((key) => echoPlugin(key)),
      keys,
    );
    await made.kernel.boot();
    const last = new Map<string, boolean>();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const key = keys[(index * 7) % 10] ?? 'p0';
        const enabled = index % 3 !== 0;
        last.set(key, enabled);
        return enabled ? made.control.enable(key) : made.control.disable(key);
      }),
    );
    expect(answers).to.have.length(50);
    for (const row of made.control.list())
      expect(row.state, row.key).to.equal(last.get(row.key) ? 'active' : 'disabled');
  });

  it('keeps observed equal to desired, and leaks nothing, over random toggles of random dependency graphs', async () => {
    const graph = fc
      .integer({ min: 2, max: 9 })
      .chain((count) =>
        fc.tuple(fc.constant(count), fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 14 })),
      );
    const steps = fc.array(fc.tuple(fc.nat(8), fc.constantFrom('enable', 'disable', 'cascade', 'restart')), {
      minLength: 1,
      maxLength: 14,
    });
    await fc.assert(
      fc.asyncProperty(graph, steps, fc.boolean(), async ([count, edges], todo, atOnce) => {
        // Edges lead from a higher to a lower number, so there are no cycles.
        const requires = Array.from({ length: count }, (_, from) => [
          ...new Set(
            edges.filter(([a, b]) => Math.max(a, b) === from && a !== b).map(([a, b]) => `p${Math.min(a, b)}`),
          ),
        ]);
        const ticks = { live: 0 };
        const plugins = requires.map((needs, index) =>
          echoPlugin(`p${index}`, {
            requires: needs,
            start: (host) => {
              ticks.live += 1;
              host.own({
                dispose: () => {
                  ticks.live -= 1;
                },
              });
              host.every(5, () => undefined);
              host.on('alert', () => undefined);
              host.points.onChange('tool', () => undefined);
            },
          }),
        );
        made = makeKernel(plugins, []);
        await made.kernel.boot();
        const run = async ([index, what]: readonly [number, string]): Promise<void> => {
          const key = `p${index % count}`;
          if (what === 'enable') await made.control.enable(key).catch(() => undefined);
          else if (what === 'restart') await made.control.restart(key).catch(() => undefined);
          else await made.control.disable(key, { cascade: what === 'cascade' }).catch(() => undefined);
        };
        if (atOnce) await Promise.all(todo.map(run));
        else for (const step of todo) await run(step);
        const wanted = (key: string): boolean => made.desired.current.plugins[key]?.enabled === true;
        const canRun = (key: string): boolean => wanted(key) && (requires[Number(key.slice(1))] ?? []).every(canRun);
        for (const row of made.control.list()) {
          expect(row.state, `${row.key} of ${JSON.stringify(requires)}`).to.equal(
            canRun(row.key) ? 'active' : wanted(row.key) ? 'blocked' : 'disabled',
          );
        }
        const active = made.control.list().filter((row) => row.state === 'active');
        expect(made.kernel.points.keys('tool')).to.have.members(active.map((row) => row.key));
        expect(ticks.live).to.equal(active.length);
        expect(made.open.scopes).to.equal(active.length);
        expect(made.kernel.events.count()).to.equal(active.length);
        expect(made.kernel.registry.listenerCount()).to.equal(active.length);
        await made.stop();
        expect(ticks.live).to.equal(0);
        expect(made.open.scopes).to.equal(0);
        expect(made.kernel.registry.everything()).to.have.length(0);
        expect(made.kernel.events.count()).to.equal(0);
      }),
      { numRuns: 60 },
    );
  });
});

function slowPlugin(onRun: (resolve: (value: object) => void) => void) {
  const plugin = echoPlugin('slow');
  return {
    ...plugin,
    definition: () => ({
      key: 'slow',
      register(host: { contribute(point: 'tool', key: string, value: object): unknown }) {
        host.contribute('tool', 'slow', {
          summary: 'Waits.',
          audience: ['mcp'],
          inputSchema: { type: 'object' },
          run: () => new Promise<object>((resolve) => onRun(resolve)),
        });
      },
    }),
  };
}
