import { expect } from 'chai';
import { limitEvents } from '../store/turn-rows.js';

const delta = (text: string) => ({ type: 'assistant_delta', step: 1, delta: text });

describe('stored events', () => {
  it('are stored whole when they are small', () => {
    const events = [{ type: 'step_started', step: 1 }, delta('hi')];
    expect(limitEvents(events)).to.deep.equal({ json: JSON.stringify(events), truncated: false });
  });

  it('lose their oldest deltas first, and stay below 64 KiB', () => {
    const events = [
      { type: 'step_started', step: 1 },
      ...Array.from({ length: 100 }, (_, n) => delta(`${n} ${'é'.repeat(500)}`)),
    ];
    const { json, truncated } = limitEvents(events);
    expect(truncated).to.equal(true);
    expect(Buffer.byteLength(json)).to.be.within(60_000, 65_536);
    const stored = JSON.parse(json) as { type: string; delta?: string }[];
    expect(stored[0]?.type).to.equal('step_started');
    expect(stored.at(-1)?.delta).to.match(/^99 /);
    expect(stored[1]?.delta).to.not.match(/^0 /);
  });

  it('lose other events too when those alone are too large', () => {
    const result = (n: number) => ({ type: 'tool_call', step: n, tool_call: { input: 'x'.repeat(10_000) } });
    const { json } = limitEvents(Array.from({ length: 10 }, (_, n) => result(n)));
    expect(Buffer.byteLength(json)).to.be.at.most(65_536);
    expect((JSON.parse(json) as { step: number }[]).at(-1)?.step).to.equal(9);
  });
});
