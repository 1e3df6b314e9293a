import { createTestHost, cronNodeContract } from 'mortise/sdk/testing';

cronNodeContract('the node tool_call', {
  host: () => createTestHost({ plugins: ['cron-node-tool-call'], listen: false }),
  key: 'tool_call',
  valid: [{ tool: 'count' }, { tool: 'count', arguments: { text: 'x' } }],
  invalid: [{}, { tool: '' }, { tool: 'x', arguments: 1 }],
});
