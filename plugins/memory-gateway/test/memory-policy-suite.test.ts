import type { MemoryPolicy } from 'mortise/contracts/memory-gateway';
import { memoryPolicySuite } from 'mortise/contracts/memory-gateway/testing';
import { testSuite, wait } from 'mortise/sdk/testing';

const policy = (run: MemoryPolicy['run'] = good, more: Partial<MemoryPolicy> = {}): MemoryPolicy => ({
  order: 10,
  tools: ['memory_store'],
  run,
  ...more,
});

const good: MemoryPolicy['run'] = ({ kind }) =>
  kind === 'draft' ? { kind: 'reject', reason: 'drafts', message: 'Drafts are not kept.' } : { kind: 'pass' };

let calls = 0;
let busy = 0;
let started = 0;
const rejected = (reason: string) => ({ kind: 'reject' as const, reason, message: 'No.' });

testSuite(
  { ...memoryPolicySuite, point: 'memory-policy' },
  {
    plugins: ['memory-gateway'],
    good: { make: () => policy() },
    subject: {
      samples: [
        { kind: 'draft', verdict: 'reject' },
        { kind: 'fact', verdict: 'pass' },
      ],
    },
    bad: {
      'is registered under its key, with facts that match the schema of its extension point': {
        make: () => policy(good, { order: 1.5 }),
      },
      'passes, redirects or rejects, with a reason and a message': {
        make: () => policy(() => ({ kind: 'redirect', space: '', reason: '', message: '' })),
        subject: { samples: [{ verdict: 'redirect' }] },
      },
      'returns the same result for the same call, regardless of calls in between': {
        make: () => policy(() => rejected(`reason_${calls++}`)),
      },
      'serves 20 concurrent calls': {
        make: () =>
          policy(async () => {
            busy += 1;
            await wait(1);
            const together = busy;
            busy -= 1;
            return together > 1 ? rejected('busy') : { kind: 'pass' };
          }),
      },
      'stops its work when its signal is aborted': {
        make: () =>
          policy(async () => {
            await wait(700);
            return { kind: 'pass' };
          }),
      },
      'decides on hostile memories within one second': {
        make: () =>
          policy(({ actorUserId }) => ((actorUserId as string).length > 0 ? { kind: 'pass' } : rejected('nobody'))),
      },
      'does not log message text': {
        make: (host) =>
          policy(({ content }) => {
            host.log.info(`judged ${content}`);
            return { kind: 'pass' };
          }),
      },
      'is withdrawn when its plugin is disabled, and works again when it is enabled': {
        make: () => policy(),
        start: () => {
          started += 1;
          if (started > 1) throw new Error('already started');
        },
      },
    },
  },
);
