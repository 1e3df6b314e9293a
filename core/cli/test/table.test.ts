import { expect } from 'chai';
import stringWidth from 'string-width';
import { table } from '../output.js';

describe('a table', () => {
  const rows = [
    ['host.http.port', 'x'.repeat(300), 'environment MORTISE_PORT'],
    ['host.locale', '"en"', 'default'],
  ];
  const head = ['NAME', 'VALUE', 'FROM'];

  it('has complete cells without a terminal, and pads no line for a long cell', () => {
    const lines = table(head, rows).split('\n');
    expect(lines[2]).to.equal(`host.http.port  ${'x'.repeat(300)}  environment MORTISE_PORT`);
    expect(lines.filter((_, index) => index !== 2).map(({ length }) => length < 110)).to.not.include(false);
  });

  it('truncates only the longest cells when it must fit', () => {
    const lines = table(head, rows, 80).split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).to.equal(80);
    expect(lines[2]).to.match(/^host\.http\.port {2}x+… {2}environment MORTISE_PORT$/);
    expect(lines[3]).to.match(/^host\.locale +"en" +default$/);
  });

  it('keeps ids complete and truncates texts, however narrow the terminal is', () => {
    const chats = [['chat-1795408377993817016', '港口今天的潮汐时间表', 'alice', '2026-11-23T04:00:00.000Z']];
    for (const width of [50, 40, 20]) {
      const [, rule = '', row = ''] = table(['ID', 'NAME', 'USER', 'UPDATED'], chats, width).split('\n');
      expect(row).to.match(/^chat-1795408377993817016 {2}港口.*… +alice {2}2026-/);
      expect(stringWidth(rule)).to.equal(width === 50 ? 50 : 47);
    }
    const pool = [['1', 'obs-0123456789abcdef', 'duplicate of another', 'console:alice:main']];
    const [, , kept] = table(['AT', 'OBSERVATION', 'REASON', 'SESSION'], pool, 30, [1, 3]).split('\n');
    expect(kept).to.equal('1   obs-0123456789abcdef  dupli…  console:alice:main');
  });

  it('keeps a row on one line without control characters, whatever its cells contain', () => {
    const text = table(['PLUGIN', 'STATE'], [['two\nlines\u001b[31m\u009b', 'blocked']]);
    expect(text.split('\n')[2]).to.equal('two·lines·[31m·  blocked');
  });

  it('aligns and truncates wide characters by their columns', () => {
    const lines = table(
      ['NAME', 'STATE'],
      [
        ['记忆网关', 'active'],
        ['gate', 'off'],
      ],
    ).split('\n');
    expect(lines.slice(2)).to.deep.equal(['记忆网关  active', 'gate      off']);
    const [, , long] = table(['NAME', 'STATE'], [['记'.repeat(30), 'active']], 30, []).split('\n');
    expect(long).to.equal(`${'记'.repeat(10)}…   active`);
  });

  it('keeps its columns readable in a terminal that is too narrow', () => {
    const [first] = table(head, rows, 10).split('\n').slice(2);
    expect(first).to.equal('host.http.port  xxxxx…  envir…');
  });
});
