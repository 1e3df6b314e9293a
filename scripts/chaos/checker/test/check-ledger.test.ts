import { expect } from 'chai';
import { checkLedger, type LedgerJob } from '../check-ledger.js';

const job: LedgerJob = { id: 'j', interval: 60, policy: 'run_once', onInterrupt: 'safe' };
const epoch = { job_id: 'j', epoch: 1, from_at: '2026-11-20T10:00:00Z', to_at: '2026-11-20T10:04:30Z' };

const slot = (from: string, more: object = {}) => ({
  job_id: 'j',
  epoch: 1,
  scheduled_at: `2026-11-20T10:0${from}:00Z`,
  through_at: `2026-11-20T10:0${from}:00Z`,
  slot_count: 1,
  outcome: 'succeeded',
  reason: null,
  ...more,
});
const run = (minute: string, status = 'succeeded') => ({
  run_id: `run-${minute}`,
  job_id: 'j',
  scheduled_at: `2026-11-20T10:0${minute}:00Z`,
  status,
  error: null,
});
const skipped = slot('1', {
  through_at: '2026-11-20T10:02:00Z',
  slot_count: 2,
  outcome: 'skipped',
  reason: 'coalesced',
});
const failed = slot('4', { outcome: 'failed' });
const whole = {
  epochs: [epoch],
  slots: [skipped, slot('3'), failed],
  runs: [run('3'), run('4', 'failed')],
  journal: [
    'begin cron:j:2026-11-20T10:03:00Z',
    'sent cron:j:2026-11-20T10:03:00Z',
    'begin cron:j:2026-11-20T10:04:00Z',
  ],
};

function check(parts: Partial<typeof whole>, planned: Partial<LedgerJob> = {}) {
  const { journal, ...tables } = { ...whole, ...parts };
  const reader = {
    dialect: 'sqlite' as const,
    rows: async <Row>(sql: string) => (tables[sql.split('cron_')[1] as keyof typeof tables] ?? []) as Row[],
    atOnce: <T>(work: () => Promise<T>) => work(),
    close: async () => undefined,
  };
  return checkLedger(reader, [{ ...job, ...planned }], journal).then(({ violations }) => violations);
}

describe('the checker of a ledger', () => {
  it('accepts a ledger in which every slot has one outcome', async () => {
    expect(await check({})).to.deep.equal([]);
  });

  const corruptions: readonly (readonly [string, Partial<typeof whole>, Partial<LedgerJob>?])[] = [
    ['a slot without a row', { slots: [skipped, failed], runs: [run('4', 'failed')] }],
    ['a slot with two rows', { slots: [...whole.slots, slot('2', { outcome: 'skipped', reason: 'window' })] }],
    ['a row for a time that is not a slot', { slots: [...whole.slots, slot('7')] }],
    ['a row of an unknown epoch', { slots: [...whole.slots, slot('3', { epoch: 2 })] }],
    ['a wrong count', { slots: [{ ...skipped, slot_count: 3 }, slot('3'), failed] }],
    ['a slot that is still running', { slots: [skipped, slot('3', { outcome: 'running' }), failed] }],
    ['an unfinished run', { runs: [...whole.runs, run('4', 'queued')] }],
    ['two successful runs', { runs: [...whole.runs, run('3')] }],
    ['a success without a run', { runs: [run('4', 'failed')] }],
    ['a success without an effect', { journal: [] }],
    ['a repeated effect', { journal: [...whole.journal, 'begin cron:j:2026-11-20T10:03:00Z'] }],
    ['an effect of a skipped slot', { journal: [...whole.journal, 'begin cron:j:2026-11-20T10:01:00Z'] }],
    ['a skipped slot of run_all', {}, { policy: 'run_all' }],
    ['a run without a row', { runs: [...whole.runs, run('9')] }],
    ['an open epoch', { epochs: [{ ...epoch, to_at: null as unknown as string }] }],
    ['no epoch', { epochs: [], slots: [], runs: [] }],
  ];
  for (const [what, parts, planned] of corruptions) {
    it(`finds ${what}`, async () => {
      expect(await check(parts, planned)).not.to.deep.equal([]);
    });
  }

  it('accepts a repeated effect if the job allows it', async () => {
    const journal = [...whole.journal, 'begin cron:j:2026-11-20T10:03:00Z'];
    expect(await check({ journal }, { onInterrupt: 'retry' })).to.deep.equal([]);
  });
});
