import { expect } from 'chai';
import type { CommandInput, CommandResult } from 'mortise/sdk';
import { createTestHost, localPrincipal, oneDatabase, type TestHost } from 'mortise/sdk/testing';
import { textJob } from './platform.js';

describe('the coming slots', () => {
  oneDatabase(() => {
    let host: TestHost;

    before(async () => {
      host = await createTestHost({ plugins: ['cron', 'cron-nodes'], env: { MORTISE_CRON_ENABLED: 'false' } });
    });

    after(async function stop() {
      await host.stop();
    });

    const newYork = 'America/New_York';
    const table: readonly (readonly [string, string, string, readonly string[], object?])[] = [
      ['30 2 8 3 *', newYork, '2026-02-15T00:00:00Z', ['2027-03-08T07:30:00Z']],
      ['30 1 1 11 *', newYork, '2026-10-01T00:00:00Z', ['2026-11-01T05:30:00Z', '2027-11-01T05:30:00Z']],
      [
        '30 2 * * *',
        newYork,
        '2026-03-07T00:00:00Z',
        ['2026-03-07T07:30:00Z', '2026-03-09T06:30:00Z', '2026-03-10T06:30:00Z'],
      ],
      [
        '30 2 * * *',
        newYork,
        '2026-03-07T00:00:00Z',
        ['2026-03-07T07:30:00Z', '2026-03-08T07:00:00Z', '2026-03-09T06:30:00Z'],
        { dst_gap: 'shift' },
      ],
      [
        '0 * * * *',
        newYork,
        '2026-11-01T03:30:00Z',
        ['2026-11-01T04:00:00Z', '2026-11-01T05:00:00Z', '2026-11-01T06:00:00Z', '2026-11-01T07:00:00Z'],
      ],
      [
        '*/20 1 * * *',
        newYork,
        '2026-11-01T04:00:00Z',
        ['2026-11-01T05:00:00Z', '2026-11-01T05:20:00Z', '2026-11-01T05:40:00Z', '2026-11-02T06:00:00Z'],
      ],
      [
        '*/20 1 * * *',
        newYork,
        '2026-11-01T05:30:00Z',
        ['2026-11-01T05:40:00Z', '2026-11-01T06:00:00Z', '2026-11-01T06:20:00Z', '2026-11-01T06:40:00Z'],
        { dst_overlap: 'both' },
      ],
      [
        '15 2 * * *',
        'Australia/Lord_Howe',
        '2026-10-02T00:00:00Z',
        ['2026-10-02T15:45:00Z', '2026-10-03T15:30:00Z'],
        { dst_gap: 'shift' },
      ],
      ['0 0 13 * FRI', 'UTC', '2026-11-01T00:00:00Z', ['2026-11-06T00:00:00Z', '2026-11-13T00:00:00Z']],
      ['*/15 * * * * *', 'UTC', '2026-11-20T10:00:07Z', ['2026-11-20T10:00:15Z', '2026-11-20T10:00:30Z']],
      ['0 9 * * mon-fri', 'Asia/Shanghai', '2026-11-20T01:00:00Z', ['2026-11-23T01:00:00Z']],
      ['TZ=Asia/Kolkata 30 23 31 12 *', 'UTC', '2026-11-20T00:00:00Z', ['2026-12-31T18:00:00Z']],
      ['@every 90s', 'UTC', '2026-11-20T00:00:00Z', ['2026-11-20T00:01:30Z']],
      ['@hourly', 'UTC', '2026-11-20T00:00:00Z', ['2026-11-20T01:00:00Z']],
    ];
    for (const [cron, timezone, from, next, more] of table) {
      it(`of ${cron} in ${timezone}${more ? ` with ${JSON.stringify(more)}` : ''} after ${from}`, async () => {
        const schedule = { type: 'cron', cron, timezone, ...more };
        const response = await host.post('/cron/preview', { schedule, from, count: next.length });
        expect(await response.json()).to.deep.equal({ next, schedule });
      });
    }

    it('are refused for a wrong count, time or schedule', async () => {
      const schedule = { type: 'cron', cron: '@hourly' };
      for (const [body, code] of [
        [{ schedule, count: 101 }, 'invalid_request'],
        [{ schedule, count: 'many' }, 'invalid_json'],
        [{ schedule, from: 'now' }, 'invalid_request'],
        [{ schedule, from: '0001-01-01T00:00:00Z' }, 'invalid_request'],
        [{ schedule: { type: 'cron', cron: '0 0 31 2 *' } }, 'invalid_cron_schedule'],
        [{}, 'invalid_cron_schedule'],
      ] as const) {
        const response = await host.post('/cron/preview', body);
        const { error } = (await response.json()) as { error: { code: string } };
        expect([response.status, error.code]).to.deep.equal([400, code]);
      }
    });

    it('are printed in the zone of the job and in UTC', async () => {
      const schedule = { type: 'cron', cron: '0 9 * * *', timezone: 'Asia/Shanghai' };
      await host.post('/cron/jobs', textJob('morning', '', { schedule }));
      const input: CommandInput = { args: ['morning'], options: { count: '2' }, json: false };
      const result: CommandResult = await host.points.call(
        'command',
        'cron-preview',
        (one, ctx) => one.run(input, ctx),
        {
          principal: localPrincipal,
        },
      );
      expect(result.exitCode).to.equal(0);
      for (const line of result.text.split('\n'))
        expect(line).to.match(/09:00:00 GMT\+8 {2}\d{4}-\d\d-\d\dT01:00:00Z$/);
    });

    it('are shown with an example of the command where a job is missing', async () => {
      const input: CommandInput = { args: [], options: {}, json: false };
      const result: CommandResult = await host.points.call(
        'command',
        'cron-create',
        (one, ctx) => one.run(input, ctx),
        {
          principal: localPrincipal,
        },
      );
      expect(result.exitCode).to.equal(2);
      const [, example] =
        /^The job is missing: .* For example: mortise cron create --body '(.*)'\n/.exec(result.text) ?? [];
      const saved = await host.post('/cron/jobs', JSON.parse(example ?? ''));
      expect(saved.status).to.equal(200);
    });

    it('of a manual run do not exist where nothing executes: it is given up', async () => {
      await host.post('/cron/jobs', textJob('idle', '1h', { runtime: { timeout_seconds: 1 } }));
      const response = await host.fetch('/cron/jobs/idle/run', { method: 'POST' });
      const { error } = (await response.json()) as { error: object };
      expect(error).to.deep.include({ code: 'cron_run_failed', message: 'no executing replica' });
      const runs = (await (await host.fetch('/cron/jobs/idle/runs')).json()) as { status: string }[];
      expect(runs.map(({ status }) => status)).to.deep.equal(['cancelled']);
    });
  });
});
