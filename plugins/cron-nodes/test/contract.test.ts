import { expect } from 'chai';
import type { CronNodeContext } from 'mortise/sdk';
import { createTestHost, cronNodeContract } from 'mortise/sdk/testing';
import { delayNode } from '../delay.js';

const host = () => createTestHost({ plugins: ['cron-nodes'], listen: false });

cronNodeContract('the node text_event', {
  host,
  key: 'text_event',
  valid: [{ text: 'hello' }, { text: '你好' }],
  invalid: [{ text: 1 }],
});

cronNodeContract('the node delay', {
  host,
  key: 'delay',
  valid: [{ delay_seconds: 0 }],
  invalid: [{ delay_seconds: '1' }],
  slow: { delay_seconds: 5 },
  keep: ['delay_seconds'],
});

describe('a delay that a crash interrupted', () => {
  it('waits for what remains of it, whatever the clock says', async () => {
    const { signal } = new AbortController();
    const context = { signal, nodeStartedAt: '2999-01-01T00:00:00Z', nodeElapsedMs: 59_950 } as CronNodeContext;
    const begun = performance.now();
    await delayNode({ summary: '', paramsSchema: {} } as never).run({ delay_seconds: 60 }, context);
    expect(performance.now() - begun).to.be.within(45, 20_000);
  });
});

cronNodeContract('the node if_event', {
  host,
  key: 'if_event',
  valid: [{ if_condition: 'channel == console' }, { if_condition: 'job_name != "a b"' }],
  invalid: [{ if_condition: true }],
  failing: [{ if_condition: 'nonsense' }],
});
