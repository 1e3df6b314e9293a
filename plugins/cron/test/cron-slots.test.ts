import { expect } from 'chai';
import type { DstRule } from '../schedule/cron-slots.js';
import { nextSlots, readSchedule, slotsOf } from '../schedule/schedule.js';

const at = (text: string): number => Date.parse(text);

function seriesOf(cron: string, timezone: string, { gap = 'shift', overlap = 'auto' }: Partial<DstRule> = {}) {
  return slotsOf(readSchedule({ type: 'cron', cron, timezone, dst_gap: gap, dst_overlap: overlap }), 0);
}

function series(cron: string, zone: string, after: string, count: number, options: Partial<DstRule> = {}): string[] {
  return nextSlots(seriesOf(cron, zone, options), at(after), count).map((slot) =>
    new Date(slot).toISOString().replace('.000', ''),
  );
}

function next(cron: string, zone: string, after: string, options: Partial<DstRule> = {}): string {
  return series(cron, zone, after, 1, options)[0] ?? '';
}

describe('the slots of a cron expression', () => {
  const table: readonly (readonly [string, string, string, string, string])[] = [
    [
      'is always later than the moment asked about',
      '0 12 * * *',
      'UTC',
      '2026-03-01T12:00:00Z',
      '2026-03-02T12:00:00Z',
    ],
    ['counts from the next whole second', '* * * * *', 'UTC', '2026-03-01T11:59:59.999Z', '2026-03-01T12:00:00Z'],
    ['reads lists', '5,50 * * * *', 'UTC', '2026-03-01T12:06:00Z', '2026-03-01T12:50:00Z'],
    ['reads ranges', '0 9-17 * * *', 'UTC', '2026-03-01T17:30:00Z', '2026-03-02T09:00:00Z'],
    ['reads steps', '*/20 * * * *', 'UTC', '2026-03-01T12:41:00Z', '2026-03-01T13:00:00Z'],
    [
      'reads a start with a step as "from there on"',
      '5/20 * * * *',
      'UTC',
      '2026-03-01T12:26:00Z',
      '2026-03-01T12:45:00Z',
    ],
    ['reads a range with a step', '0 8-18/5 * * *', 'UTC', '2026-03-01T13:00:00Z', '2026-03-01T18:00:00Z'],
    ['reads names in any case', '0 0 * FEB Mon', 'UTC', '2026-02-03T00:00:00Z', '2026-02-09T00:00:00Z'],
    ['takes 7 for Sunday', '0 0 * * 7', 'UTC', '2026-03-02T00:00:00Z', '2026-03-08T00:00:00Z'],
    ['reads a range that ends on 7', '0 0 * * 5-7', 'UTC', '2026-03-07T00:00:00Z', '2026-03-08T00:00:00Z'],
    [
      'matches either day field when both are restricted',
      '0 0 13 * fri',
      'UTC',
      '2026-03-06T00:00:00Z',
      '2026-03-13T00:00:00Z',
    ],
    ['so also the date alone', '0 0 10 * fri', 'UTC', '2026-03-06T00:00:00Z', '2026-03-10T00:00:00Z'],
    [
      'matches the date alone when the week is open',
      '0 0 10 * ?',
      'UTC',
      '2026-03-06T00:00:00Z',
      '2026-03-10T00:00:00Z',
    ],
    [
      'needs both day fields when one is written as */2',
      '0 0 */2 * *',
      'UTC',
      '2026-03-01T00:00:00Z',
      '2026-03-03T00:00:00Z',
    ],
    ['finds 29 February', '0 0 29 2 *', 'UTC', '2026-03-01T00:00:00Z', '2028-02-29T00:00:00Z'],
    [
      'finds 29 February beyond a century without one',
      '0 0 29 2 *',
      'UTC',
      '2096-03-01T00:00:00Z',
      '2104-02-29T00:00:00Z',
    ],
    ['skips months without a 31st', '0 0 31 * *', 'UTC', '2026-03-31T00:00:00Z', '2026-05-31T00:00:00Z'],
    ['turns the year', '0 0 1 1 *', 'UTC', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z'],
    ['reads leading seconds', '*/15 * * * * *', 'UTC', '2026-03-01T12:00:16Z', '2026-03-01T12:00:30Z'],
    ['reads @daily', '@daily', 'UTC', '2026-03-01T12:00:00Z', '2026-03-02T00:00:00Z'],
    ['reads @Weekly', '@Weekly', 'UTC', '2026-03-02T12:00:00Z', '2026-03-08T00:00:00Z'],
    ['counts in the zone', '0 9 * * *', 'Asia/Shanghai', '2026-03-01T02:00:00Z', '2026-03-02T01:00:00Z'],
    ['counts in a zone with half an hour', '0 9 * * *', 'Asia/Kolkata', '2026-03-01T02:00:00Z', '2026-03-01T03:30:00Z'],
    ['lets a TZ prefix win', 'TZ=Asia/Shanghai 0 9 * * *', 'UTC', '2026-03-01T02:00:00Z', '2026-03-02T01:00:00Z'],
    [
      'lets a CRON_TZ prefix win',
      'CRON_TZ=UTC 0 9 * * *',
      'Asia/Shanghai',
      '2026-03-01T02:00:00Z',
      '2026-03-01T09:00:00Z',
    ],
    [
      'follows the zone over a date line',
      '0 0 * * *',
      'Pacific/Kiritimati',
      '2026-03-01T10:00:00Z',
      '2026-03-02T10:00:00Z',
    ],
    [
      'finds local midnight west of Greenwich',
      '0 0 * * *',
      'America/Los_Angeles',
      '2026-01-10T07:59:59Z',
      '2026-01-10T08:00:00Z',
    ],
  ];
  for (const [promise, expression, zone, after, expected] of table) {
    it(`${promise} (${expression})`, () => {
      expect(next(expression, zone, after)).to.equal(expected);
    });
  }

  it('runs at the first moment after the gap when clocks go forward', () => {
    expect(series('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).to.deep.equal([
      '2026-03-29T01:00:00Z',
      '2026-03-30T00:30:00Z',
    ]);
  });

  it('runs several times of one gap once', () => {
    expect(series('0,15,30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 2)).to.deep.equal([
      '2026-03-29T01:00:00Z',
      '2026-03-30T00:00:00Z',
    ]);
  });

  it('leaves out the times of a gap when asked to', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', { gap: 'skip' })).to.equal(
      '2026-03-30T00:30:00Z',
    );
  });

  it('runs a time that happens twice only once when clocks go back', () => {
    expect(series('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).to.deep.equal([
      '2026-10-25T00:30:00Z',
      '2026-10-26T01:30:00Z',
    ]);
  });

  it('runs in both of the doubled hours when every hour is named', () => {
    expect(series('30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 3)).to.deep.equal([
      '2026-10-25T00:30:00Z',
      '2026-10-25T01:30:00Z',
      '2026-10-25T02:30:00Z',
    ]);
  });

  it('lets the caller decide about doubled times', () => {
    const first = series('30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 2, { overlap: 'first' });
    expect(first).to.deep.equal(['2026-10-25T00:30:00Z', '2026-10-25T02:30:00Z']);
    const both = series('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 2, { overlap: 'both' });
    expect(both).to.deep.equal(['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']);
  });

  it('handles a clock change of half an hour', () => {
    expect(series('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 2)).to.deep.equal([
      '2026-10-03T15:30:00Z',
      '2026-10-04T15:15:00Z',
    ]);
  });

  it('handles a clock change at midnight that repeats the last hour of the day before', () => {
    // Brazil until 2019: at 00:00 the clock went back to 23:00 of the day before.
    expect(series('30 23 * * *', 'America/Sao_Paulo', '2018-02-17T12:00:00Z', 2)).to.deep.equal([
      '2018-02-18T01:30:00Z',
      '2018-02-19T02:30:00Z',
    ]);
  });

  it('handles a midnight that does not exist', () => {
    expect(next('0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00:00Z')).to.equal('2018-11-04T03:00:00Z');
  });

  it('handles a day that does not exist', () => {
    // Samoa had no 30 December 2011.
    expect(series('0 12 30 12 *', 'Pacific/Apia', '2011-12-01T00:00:00Z', 1, { gap: 'skip' })).to.deep.equal([
      '2012-12-29T22:00:00Z',
    ]);
  });

  it('never goes back, and never skips or repeats a minute of the world, over a year of clock changes', () => {
    for (const zone of ['Europe/Berlin', 'Australia/Lord_Howe']) {
      const slots = seriesOf('*/30 * * * *', zone, { gap: 'skip' });
      let last = at('2026-01-01T00:00:00Z');
      while (last < at('2027-01-01T00:00:00Z')) {
        const found = slots.next(last);
        expect(found - last, `${zone} after ${new Date(last).toISOString()}`).to.equal(1_800_000);
        last = found;
      }
    }
  });

  it('skips a local time that does not exist by default', () => {
    const slots = slotsOf(readSchedule({ type: 'cron', cron: '30 2 * * *', timezone: 'America/New_York' }), 0);
    expect(nextSlots(slots, at('2026-03-07T00:00:00Z'), 2).map((slot) => new Date(slot).toISOString())).to.deep.equal([
      '2026-03-07T07:30:00.000Z',
      '2026-03-09T06:30:00.000Z',
    ]);
  });

  it('puts repeated times in order when the clock goes back over midnight', () => {
    // Newfoundland until 2011: at 00:01 the clock went back to 23:01 of the day before.
    expect(series('0,30 0,23 * * *', 'America/St_Johns', '2010-11-07T01:45:00Z', 5, { overlap: 'both' })).to.deep.equal(
      [
        '2010-11-07T02:00:00Z',
        '2010-11-07T02:30:00Z',
        '2010-11-07T03:00:00Z',
        '2010-11-07T03:30:00Z',
        '2010-11-07T04:00:00Z',
      ],
    );
  });

  const refused: readonly (readonly [string, string])[] = [
    ['* * * *', 'expected 5 or 6 fields, found 4'],
    ['60 * * * *', 'minute 60 is not from 0 to 59'],
    ['* 24 * * *', 'hour 24 is not from 0 to 23'],
    ['* * 0 * *', 'day of month 0 is not from 1 to 31'],
    ['* * * 13 *', 'month 13 is not from 1 to 12'],
    ['* * * * 8', 'day of week 8 is not from 0 to 7'],
    ['30-10 * * * *', 'range "30-10" of minute runs backwards'],
    ['*/0 * * * *', 'step "0" of minute'],
    ['? * * * *', '"?" is not a minute'],
    ['* * L * *', '"L" is not a day of month'],
    ['* * * * mon#2', '"mon#2" is not a day of week'],
    ['1,,2 * * * *', '"" is not a minute'],
    ['@often', '"@often" is not known'],
    ['0 0 30 2 *', 'no matching time'],
    ['TZ=Mars/Base 0 0 * * *', 'unknown time zone "Mars/Base"'],
    ['@every 0s', '"0s" is no interval'],
    ['@every soon', '"soon" is no interval'],
  ];
  for (const [expression, reason] of refused) {
    it(`refuses "${expression}" and says why`, () => {
      expect(() => seriesOf(expression, 'UTC').next(0))
        .to.throw(`invalid cron expression: ${reason}`)
        .with.property('code', 'invalid_cron_schedule');
    });
  }

  it('refuses an unknown zone', () => {
    expect(() => seriesOf('* * * * *', 'Mars/Olympus'))
      .to.throw('invalid schedule.timezone="Mars/Olympus"')
      .with.property('code', 'invalid_cron_schedule');
  });
});
