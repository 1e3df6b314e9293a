import { expect } from 'chai';
import type { Alert } from '../../sdk/events.js';
import { createStorageAlarm } from '../database-alarm.js';

describe('the alarm of a full database', () => {
  it('is raised at most once a minute, and is a finding until there is space again', () => {
    let now = 1_000_000;
    const raised: Alert[] = [];
    const alarm = createStorageAlarm(
      (alert) => void raised.push(alert),
      () => now,
    );
    expect(alarm.findings()).to.deep.equal([]);
    for (let count = 0; count < 100; count += 1) alarm.full();
    expect(raised.map(({ code, severity }) => `${code} ${severity}`)).to.deep.equal(['database_full critical']);
    now += 59_999;
    expect(alarm.findings().map(({ code }) => code)).to.deep.equal(['database_full']);
    alarm.full();
    expect(raised).to.have.length(1);
    now += 1;
    alarm.full();
    expect(raised).to.have.length(2);
    now += 600_000;
    expect(alarm.findings().map(({ code }) => code)).to.deep.equal(['database_full']);
    alarm.freed();
    expect(alarm.findings()).to.deep.equal([]);
  });
});
