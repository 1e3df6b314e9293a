import { commandContract, createTestHost } from 'mortise/sdk/testing';

const host = () => createTestHost({ plugins: ['gate', 'conversation'], listen: false });

/** What differs from one call to the next. */
const changing = ['text', 'elapsed_us', 'calls', 'p99_us', 'loop_lag_ms', 'over_budget', 'trace_id'];

commandContract('mortise gate status', { host, key: 'gate-status', changing });
commandContract('mortise gate pools', {
  host,
  key: 'gate-pools',
  done: { args: ['drop'] },
  refused: [{ args: ['none'] }, { args: ['drop'], options: { limit: '0' } }],
  wrongUsage: [{}, { args: ['drop', 'sink'] }],
});
commandContract('mortise gate explain', {
  host,
  key: 'gate-explain',
  done: { options: { text: 'hello?' } },
  wrongUsage: [{}, { args: ['x'], options: { text: 'hello?' } }],
  changing,
});
commandContract('mortise gate reload', { host, key: 'gate-reload' });
