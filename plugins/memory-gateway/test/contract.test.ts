import { commandContract, createTestHost, routeContract, toolContract } from 'mortise/sdk/testing';

const host = () => createTestHost({ plugins: ['memory-backend-local', 'memory-gateway'] });
const secretText = 'zanzibar';
const changing = ['correlation_id', 'generated_at'];
const wrong = [{ payload_md: 7 }, { payload_md: '' }, { payload_md: 'x', kind: 'no kind' }];

toolContract('memory_store', {
  host,
  key: 'memory_store',
  valid: [
    { payload_md: `The harbour of ${secretText} opens at six.`, target_space: 'private:me' },
    { payload_md: 'Another fact.', target_space: 'private:me', kind: 'FACT', actor_user_id: 'me' },
  ],
  invalid: [{}, ...wrong],
  secretText,
  // Each store has its own row; a repeat is reported as a duplicate.
  repeatable: false,
});

toolContract('memory_query', {
  host,
  key: 'memory_query',
  valid: [
    { query: `harbour ${secretText}`, spaces: ['private:me'] },
    { query: '', spaces: ['private:me'], top_k: 3 },
  ],
  invalid: [{}, { query: 7 }, { query: 'x', spaces: [] }, { query: 'x', top_k: 0 }],
  changing,
  secretText,
});

toolContract('reliability_report', {
  host,
  key: 'reliability_report',
  valid: [{}],
  changing,
});

for (const [key, wrongUsage] of [
  ['memory-recover', []],
  ['memory-report', []],
  ['memory-audit', [{ args: [] }, { args: ['frobnicate'] }]],
  ['memory-users', [{ args: [] }, { args: ['frobnicate'] }]],
] as const) {
  commandContract(`the command ${key}`, {
    host,
    key,
    done: { args: key === 'memory-audit' ? ['verify'] : key === 'memory-users' ? ['list'] : [] },
    wrongUsage,
    changing,
  });
}

routeContract('POST /memory/query', {
  host,
  key: 'memory-query',
  changing,
  samples: [
    { path: '/memory/query', body: { query: 'harbour', spaces: ['private:me'] }, status: 200 },
    { path: '/memory/query', body: { spaces: ['private:me'] }, status: 422 },
  ],
});

routeContract('POST /memory/store', {
  host,
  key: 'memory-store',
  repeatable: false,
  samples: [
    { path: '/memory/store', body: { payload_md: 'A fact.', target_space: 'private:me' }, status: 200 },
    { path: '/memory/store', body: { target_space: 'private:me' }, status: 422 },
  ],
});

routeContract('GET /health', { host, key: 'memory-health', changing, samples: [{ path: '/health', status: 200 }] });
