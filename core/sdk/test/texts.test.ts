import { expect } from 'chai';
import { decodeBase64, isUnstorableJson, isUnstorableText, oneLine } from '../text.js';

const text = (bytes: Uint8Array | undefined) => (bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8'));

describe('base64', () => {
  const base64: readonly [string, string | undefined][] = [
    ['aGVsbG8=', 'hello'],
    ['aGVsbG8', 'hello'],
    [' aGVs\r\n\tbG8= ', 'hello'],
    ['Pz8-Pz8_', '??>???'],
    ['Pz8+Pz8/', '??>???'],
    ['', ''],
    ['aGVsbG8==', undefined],
    ['aGVsb', undefined],
    ['aGVs=', undefined],
    ['=', undefined],
    ['aGVs bG8*', undefined],
    ['aG=VsbG8', undefined],
    ['ü', undefined],
  ];
  for (const [given, expected] of base64) {
    it(`${JSON.stringify(given)} as base64 is ${expected === undefined ? 'refused' : JSON.stringify(expected)}`, () => {
      expect(text(decodeBase64(given))).to.equal(expected);
    });
  }
});

describe('texts that databases cannot store', () => {
  const texts: readonly [string, boolean][] = [
    ['plain', false],
    ['一😀', false],
    ['a\0', true],
    ['\ud800', true],
    ['\udc00\ud800', true],
    ['\\u0000', false],
    ['\\\\u0000', false],
    ['\\\0', true],
    ['\ufffd', false],
  ];
  for (const [given, expected] of texts) {
    it(`${JSON.stringify(given)}: ${expected}`, () => {
      expect(isUnstorableText(given)).to.equal(expected);
      expect(isUnstorableJson(JSON.stringify({ [given]: 1 }))).to.equal(expected);
      expect(isUnstorableJson(JSON.stringify([given]))).to.equal(expected);
    });
  }
});

describe('a text as one line', () => {
  it('has no character that controls a terminal, ends the line or reverses its order', () => {
    expect(oneLine('a\u0000b\u001bc\nd\r\te\u007f\u009bf\u2028\u2029g')).to.equal('a·b·c·d··e··f··g');
    expect(oneLine('a\u202eb\u202cc\u2066d\u2069e\u200ff\u061cg')).to.equal('a·b·c·d·e·f·g');
  });

  it('keeps every other character', () => {
    const kept = 'naïve «» 日本語 🧑‍🚀 שלום a\u00a0b\u200dc';
    expect(oneLine(kept)).to.equal(kept);
  });
});
