import { expect } from 'chai';
import { readTime } from '../text.js';

const rows: readonly [text: string, read: string | undefined][] = [
  ['2026-01-02', '2026-01-02T00:00:00.000Z'],
  ['2026-01-02T03:04', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02T03:04:05.678901', '2026-01-02T03:04:05.678Z'],
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000Z'],
  ['2026-01-02T03:04:05-0130', '2026-01-02T04:34:05.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2026-02-29', undefined],
  ['2026-02-30T10:00:00Z', undefined],
  ['2026-13-01', undefined],
  ['2026-01-02T25:00:00Z', undefined],
  ['2026-01-02T03:04:05+99:00', undefined],
  ['2026-1-2', undefined],
  ['2026', undefined],
  ['2 January 2026', undefined],
  ['1767225600000', undefined],
  [' 2026-01-02', undefined],
  ['', undefined],
];

describe('reading a time', () => {
  for (const [text, read] of rows) {
    it(`reads "${text}" as ${read ?? 'invalid'}`, () => {
      expect(readTime(text)).to.equal(read);
    });
  }
});
