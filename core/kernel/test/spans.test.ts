import { expect } from 'chai';
import type { SpanHandle } from '../../telemetry/types.js';
import { echoPlugin, type MadeKernel, makeKernel } from './kernel-fixture.js';

interface Recorded {
  readonly name: string;
  readonly parent: string;
  readonly spanId: string;
  error?: unknown;
  ended: boolean;
}

describe('spans of calls', () => {
  let made: MadeKernel;
  afterEach(() => made.stop());

  it('follow a call from plugin to plugin, and are not created for unsampled traces', async () => {
    const spans: Recorded[] = [];
    const start = (name: string, parent: { traceId: string; spanId: string }): SpanHandle => {
      const spanId = String(spans.length + 1).padStart(16, '0');
      const recorded: Recorded = { name, parent: parent.spanId, spanId, ended: false };
      spans.push(recorded);
      return {
        trace: { traceId: parent.traceId, spanId, sampled: true },
        set: () => undefined,
        run: (work) => work(),
        end: (error) => Object.assign(recorded, { ended: true, ...(error ? { error } : {}) }),
      };
    };
    made = makeKernel([echoPlugin('outer'), echoPlugin('inner')], ['outer', 'inner'], { tracing: { start } });
    await made.kernel.boot();
    const { points } = made.kernel;
    const call = (sampled: boolean): Promise<unknown> =>
      points.call(
        'tool',
        'outer',
        (_tool, ctx) =>
          points.call(
            'tool',
            'inner',
            () => {
              throw new Error('no');
            },
            ctx,
          ),
        { trace: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled } },
      );
    await call(false).catch(() => undefined);
    expect(spans).to.deep.equal([]);
    await call(true).catch(() => undefined);
    expect(spans.map(({ name, parent, ended }) => ({ name, parent, ended }))).to.deep.equal([
      { name: 'tool outer', parent: 'b'.repeat(16), ended: true },
      { name: 'tool inner', parent: spans[0]?.spanId, ended: true },
    ]);
    // The code of the error, never its message.
    expect(JSON.stringify(spans[1])).to.contain('call_failed').and.not.contain('"no"');
  });
});
