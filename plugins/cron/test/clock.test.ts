import { expect } from 'chai';
import type { ScheduleService } from 'mortise/sdk';
import { eachDatabase } from 'mortise/sdk/testing';
import { DatabaseClock } from '../clock.js';

const hour = 3_600_000;

describe('the clock of slots', () => {
  eachDatabase((engine) => {
    it(`${engine.dialect === 'sqlite' ? 'follows' : 'is not moved by'} the clock of the process`, async () => {
      let set = 0;
      const schedule = { now: () => Date.now() + set, monotonic: () => performance.now() } as ScheduleService;
      const clock = new DatabaseClock(await engine.open('cron', ['cron']), schedule);
      await clock.sample();
      const moved = (): number => Math.round((clock.now() - Date.now()) / hour);
      expect(moved()).to.equal(0);
      for (const by of [hour, -hour]) {
        set = by;
        expect(moved()).to.equal(engine.dialect === 'sqlite' ? by / hour : 0);
      }
    });
  });
});
