import { expect } from 'chai';
import type { CallContext } from '../../sdk/context.js';
import type { Tool } from '../../sdk/points/tool.js';
import type { CallEnd } from '../../sdk/points.js';
import { until } from '../../sdk/testing/until.js';
import { currentPlugin } from '../attribution.js';
import { type MadeKernel, makeKernel, plugin } from './kernel-fixture.js';

type Run = (ctx: CallContext) => unknown;

describe('a held call', () => {
  let made: MadeKernel;

  afterEach(() => made.stop());

  async function boot(run: Run): Promise<void> {
    const tool: Tool = { summary: 'It.', audience: ['mcp'], inputSchema: { type: 'object' }, run: async () => ({}) };
    const it = plugin(
      { key: 'it', contributes: { tool: ['it'] } },
      { register: (host) => void host.contribute('tool', 'it', { ...tool, run: (_, ctx) => run(ctx) as object }) },
    );
    made = makeKernel([it], ['it']);
    await made.kernel.boot();
  }

  const hold = (timeoutMs = 0) => made.kernel.points.hold('tool', 'it', { timeoutMs });
  const ends: CallEnd[] = [];
  const begin = (held: ReturnType<typeof hold>): void => {
    ends.length = 0;
    held.run(
      (it, ctx) => it.run({}, ctx as never),
      (end) => ends.push(end),
    );
  };
  const inFlight = () => made.kernel.plugins.record('it')?.run?.leases.inFlight;
  const stats = () => made.kernel.registry.find('tool', 'it')?.stats;
  const codes = () => ends.map((end) => (end.ok ? 'ok' : (end.error as { code?: string }).code));

  it('delays the stop of its plugin until it has been made', async () => {
    const seen: (string | undefined)[] = [];
    await boot(async () => {
      seen.push(currentPlugin());
      return { done: true };
    });
    const held = hold();
    const stopped = made.control.disable('it');
    expect(inFlight()).to.equal(1);
    begin(held);
    await stopped;
    expect(ends).to.deep.equal([{ ok: true, value: { done: true } }]);
    expect(seen).to.deep.equal(['it']);
  });

  it('reports its end immediately, and only once', async () => {
    let run: Run = () => 7;
    await boot((ctx) => run(ctx));
    begin(hold());
    expect(ends).to.deep.equal([{ ok: true, value: 7 }]);
    run = () => {
      throw new Error('at once');
    };
    const thrown = hold();
    begin(thrown);
    expect(ends).to.have.length(1);
    expect(() => begin(thrown)).to.throw('made once');
    run = async () => {
      throw new Error('later');
    };
    begin(hold());
    expect(ends).to.deep.equal([]);
    await until(() => ends.length === 1);
    expect([inFlight(), stats()?.calls, stats()?.errors]).to.deep.equal([0, 3, 2]);
  });

  it('releases its lease when it is not made', async () => {
    await boot(() => 'called');
    hold().release();
    const given = hold();
    given.abort(new Error('enough'));
    expect([inFlight(), stats()?.errors]).to.deep.equal([0, 0]);
    begin(given);
    expect(codes()).to.deep.equal(['call_aborted']);
  });

  it('is aborted, and ends when its plugin has finished', async () => {
    let letGo: () => void = () => undefined;
    let reason: unknown;
    await boot(
      ({ signal }) =>
        new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            reason = signal.reason;
          });
          letGo = resolve;
        }),
    );
    const held = hold();
    begin(held);
    const cause = new Error('the client left');
    held.abort(cause);
    expect(reason).to.include({ code: 'call_aborted', cause });
    await Promise.resolve();
    expect([ends.length, inFlight()]).to.deep.equal([0, 1]);
    letGo();
    await until(() => ends.length === 1);
    expect(codes()).to.deep.equal(['ok']);
  });

  it('has a time limit that starts with the call', async () => {
    let letGo: () => void = () => undefined;
    await boot(() => new Promise<void>((resolve) => (letGo = resolve)));
    const held = hold(60);
    await new Promise((resolve) => setTimeout(resolve, 100));
    begin(held);
    expect(ends).to.deep.equal([]);
    await until(() => ends.length === 1);
    expect([codes()[0], inFlight()]).to.deep.equal(['call_timeout', 1]);
    letGo();
    await until(() => inFlight() === 0);
    expect(ends).to.have.length(1);
  });
});
