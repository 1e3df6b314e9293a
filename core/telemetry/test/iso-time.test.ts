import { expect } from 'chai';
import { isoTime } from '../line-writer.js';

describe('the time of a log line', () => {
  it('equals that of Date, within a second, across seconds and backwards', () => {
    const begin = Date.parse('1999-12-31T23:59:58.990Z');
    for (const step of [0, 1, 9, 10, 1_009, 1_010, 2_500, 5, 86_400_000, -1]) {
      expect(isoTime(begin + step)).to.equal(new Date(begin + step).toISOString());
    }
  });
});
