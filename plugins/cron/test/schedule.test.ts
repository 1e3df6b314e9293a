import { expect } from 'chai';
import * as fc from 'fast-check';
import { rounds, seededRandom } from 'mortise/sdk/testing';
import type { CronSchedule } from '../contract/index.js';
import { nextSlots, readSchedule, slotsOf } from '../schedule/schedule.js';
import { oracleSlots, randomCase, transitionsOf } from './slot-oracle.js';

const interval = (cron: string): CronSchedule => ({ type: 'interval', cron, timezone: 'UTC' });
const from = Date.parse('2026-11-20T10:00:00Z');

describe('an interval', () => {
  const lengths: readonly (readonly [string, number])[] = [
    ['60s', 60],
    ['1h30m', 5_400],
    ['90', 90],
    ['1.5h', 5_400],
    ['0.5s0.5s', 1],
    ['1000ms', 1],
    ['1000000us', 1],
    ['1000000µs', 1],
    [' 7 ', 7],
  ];
  for (const [text, seconds] of lengths) {
    it(`of "${text}" has a slot every ${seconds} s after the beginning of its epoch`, () => {
      const slots = nextSlots(slotsOf(readSchedule(interval(text)), from), from, 3);
      expect(slots).to.deep.equal([1, 2, 3].map((k) => from + k * seconds * 1_000));
    });
  }

  const refused: readonly (readonly [string, string])[] = [
    ['500ms', 'invalid schedule interval: "500ms"'],
    ['1.5s', 'invalid schedule interval: "1.5s"'],
    ['abc', 'invalid schedule interval: "abc"'],
    ['1h-30m', 'invalid schedule interval: "1h-30m"'],
    ['1d', 'invalid schedule interval: "1d"'],
    ['0s', 'invalid schedule interval: "0s"'],
    ['9'.repeat(12), `invalid schedule interval: "${'9'.repeat(12)}"`],
    ['0', 'schedule interval must be greater than 0'],
    ['-5', 'schedule interval must be greater than 0'],
    ['  ', 'schedule.cron is required for interval jobs'],
  ];
  for (const [text, message] of refused) {
    it(`of "${text}" is refused`, () => {
      expect(() => readSchedule(interval(text)))
        .to.throw(message)
        .with.property('code', 'invalid_cron_schedule');
    });
  }

  it('is the same as @every in any zone', () => {
    const every = readSchedule({ type: 'cron', cron: '@every 90s', timezone: 'Europe/Berlin' });
    expect(every).to.deep.equal({ kind: 'interval', seconds: 90 });
  });
});

describe('every series of slots', () => {
  it('ends with the years of four digits', () => {
    const after = Date.UTC(9999, 11, 31, 23, 59, 0);
    for (const schedule of [interval('50s'), { type: 'cron', cron: '50 59 23 31 12 *', timezone: 'UTC' } as const]) {
      const series = slotsOf(readSchedule(schedule), after);
      expect(nextSlots(series, after, 5)).to.deep.equal([after + 50_000]);
    }
  });

  it('agrees about next, last and count', () => {
    const schedules = [
      interval('700'),
      ...['*/20 1 * * *', '30 2 * * *', '0 0 * * *', '15 */5 1,15 * MON', '0 * * * *', '30 */7 * * * *'].flatMap(
        (cron) =>
          ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Asia/Beirut'].flatMap((timezone) =>
            (['skip', 'shift'] as const).map((dst_gap) => ({ type: 'cron' as const, cron, timezone, dst_gap })),
          ),
      ),
    ];
    const start = Date.parse('2018-01-01T00:00:00Z');
    const seconds = Math.floor((Date.parse('2027-01-01T00:00:00Z') - start) / 1_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...schedules),
        fc.integer({ min: 0, max: seconds }),
        fc.integer({ min: 0, max: 300_000 }),
        (spec, after, span) => {
          const series = slotsOf(readSchedule(spec), start);
          const first = start + after * 1_000;
          const through = first + span * 1_000;
          const slots: number[] = [];
          for (let slot = series.next(first); slot <= through; slot = series.next(slot)) slots.push(slot);
          expect(slots).to.deep.equal([...new Set(slots)].sort((a, b) => a - b));
          expect(series.count(first, through, 1_000_000)).to.equal(slots.length);
          expect(series.last(first, through)).to.equal(slots.at(-1));
        },
      ),
      { numRuns: rounds(200, 4_000) },
    );
  });

  it('has the slots of an independent implementation: random expressions, zones and instants', () => {
    const cases = rounds(10_000, 100_000);
    const random = seededRandom(2026);
    const changes = transitionsOf();
    for (let index = 0; index < cases; index += 1) {
      const one = randomCase(random, changes);
      const { schedule, after } = one;
      const expected = oracleSlots(one, 2);
      const found = expected.length === 0 ? [] : nextSlots(slotsOf(readSchedule(schedule), 0), after, expected.length);
      expect(found, `${JSON.stringify(schedule)} after ${new Date(after).toISOString()}`).to.deep.equal(expected);
    }
  }).timeout(600_000);
});
