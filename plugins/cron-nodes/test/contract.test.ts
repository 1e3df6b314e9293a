import { createTestHost, cronNodeContract } from 'mortise/sdk/testing';

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

cronNodeContract('the node if_event', {
  host,
  key: 'if_event',
  valid: [{ if_condition: 'channel == console' }, { if_condition: 'job_name != "a b"' }],
  invalid: [{ if_condition: true }],
  failing: [{ if_condition: 'nonsense' }],
});
