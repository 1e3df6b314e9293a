import { expect } from 'chai';
import { codec } from '../codec.js';

describe('the codec', () => {
  const times: readonly (readonly [stored: unknown, read: string | null])[] = [
    [null, null],
    ['2026-11-20T08:30:00.123Z', '2026-11-20T08:30:00.123Z'],
    ['2026-10-31T23:59:59.999Z', '2026-10-31T23:59:59.999Z'],
    ['2026-02-30T08:30:00.123Z', '2026-03-02T08:30:00.123Z'],
    ['2026-11-20 08:30:00+00', '2026-11-20T08:30:00.000Z'],
    ['2026-11-20 08:30:00.1+00', '2026-11-20T08:30:00.100Z'],
    ['2026-11-20 08:30:00.123999+00', '2026-11-20T08:30:00.123Z'],
    ['2026-11-20 08:30:00.5+05:30', '2026-11-20T03:00:00.500Z'],
    ['2026-11-20 00:30:00-08', '2026-11-20T08:30:00.000Z'],
    ['2026-11-20 08:30:00', '2026-11-20T08:30:00.000Z'],
    [Date.UTC(2026, 0, 2), '2026-01-02T00:00:00.000Z'],
    [new Date(1), '1970-01-01T00:00:00.001Z'],
  ];
  for (const [stored, read] of times) {
    it(`reads the time ${String(stored)}`, () => expect(codec.parseTime(stored)).to.equal(read));
  }

  it('refuses invalid times', () => {
    expect(() => codec.time('yesterday')).to.throw(RangeError);
    expect(() => codec.time('2026-13-20T08:30:00.123Z')).to.throw(RangeError);
    expect(() => codec.time(Number.NaN)).to.throw(RangeError);
  });

  it('reads the JSON that it wrote, and null as null', () => {
    for (const value of [null, 0, 'text', '\u001f"\\', [], { a: [{ b: 'ü😀' }] }]) {
      expect(codec.parseJson(codec.json(value))).to.deep.equal(value);
    }
    expect(codec.parseJson(null)).to.equal(null);
    expect(codec.json(undefined)).to.equal('null');
  });

  it('keeps an escape sequence in the original text', () => {
    expect(codec.parseJson(codec.json('\\u0000 \\ud800'))).to.equal('\\u0000 \\ud800');
  });

  it('reads integers of either driver and refuses what a number cannot hold', () => {
    expect([7, '7', '-9007199254740991'].map(codec.parseInteger)).to.deep.equal([7, 7, -9007199254740991]);
    for (const bad of ['9007199254740993', '1.5', '', null, undefined, 'x']) {
      expect(() => codec.parseInteger(bad)).to.throw(RangeError);
    }
  });

  it('reads flags of either driver', () => {
    expect([true, 1, 't', '1'].map(codec.parseFlag)).to.deep.equal([true, true, true, true]);
    expect([false, 0, null, 'f', '0', undefined].map(codec.parseFlag)).to.not.include(true);
  });

  it('classifies errors, also by their causes', () => {
    const coded = (code: string) => Object.assign(new Error('x'), { code });
    const kinds: readonly (readonly [error: unknown, kind: string])[] = [
      [coded('23505'), 'unique'],
      [coded('SQLITE_CONSTRAINT_PRIMARYKEY'), 'unique'],
      [coded('SQLITE_CONSTRAINT_FOREIGNKEY'), 'foreign-key'],
      [coded('40P01'), 'busy'],
      [coded('SQLITE_BUSY_SNAPSHOT'), 'busy'],
      [coded('57014'), 'timeout'],
      [coded('53100'), 'full'],
      [coded('SQLITE_FULL'), 'full'],
      [coded('08006'), 'unavailable'],
      [coded('ECONNREFUSED'), 'unavailable'],
      [coded('SQLITE_IOERR_WRITE'), 'unavailable'],
      [new Error('Connection terminated unexpectedly'), 'unavailable'],
      [new Error('outer', { cause: coded('57P01') }), 'unavailable'],
      [coded('42601'), 'other'],
      ['text', 'other'],
    ];
    for (const [error, kind] of kinds) expect(codec.errorKind(error)).to.equal(kind);
  });
});
