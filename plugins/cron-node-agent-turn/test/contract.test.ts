import { createTestHost, cronNodeContract } from 'mortise/sdk/testing';

cronNodeContract('the node agent_turn', {
  host: () => createTestHost({ plugins: ['cron-node-agent-turn'], listen: false }),
  key: 'agent_turn',
  valid: [{ prompt: 'hello' }, { prompt: 'other', model: 'demo/demo-chat', tools: [] }],
  invalid: [{}, { prompt: '' }, { prompt: 'x', model: 'no-slash' }, { prompt: 'x', other: 1 }],
  failing: [{ prompt: '\u200b' }],
});
