import { expect } from 'chai';
import type { MortiseError } from 'mortise/sdk';
import { readQueryArguments, splitQuestion } from '../query/query-arguments.js';

function refusal(args: Record<string, unknown>): string {
  try {
    readQueryArguments({ query: 'x', ...args }, 'team:default');
    return 'taken';
  } catch (error) {
    const { code, details } = error as MortiseError;
    return `${code} ${details?.path}`;
  }
}

describe('the arguments of a query', () => {
  it('have defaults, and each space once', () => {
    expect(readQueryArguments({ query: 'x' }, 'team:d')).to.deep.equal({
      query: 'x',
      spaces: ['team:d'],
      filters: {},
      topK: 10,
    });
    expect(readQueryArguments({ query: 'x', spaces: ['team:b', 'team:a', 'team:b'] }, '').spaces).to.deep.equal([
      'team:b',
      'team:a',
    ]);
  });

  it('refuse spaces of unknown type, by their path', () => {
    expect(refusal({ spaces: ['team:a', 'foo:b'] })).to.equal('INVALID_PARAM_VALUE /spaces/1');
    expect(refusal({ spaces: ['private:'] })).to.equal('INVALID_PARAM_VALUE /spaces/0');
  });

  it('refuse invalid times', () => {
    for (const time of ['yesterday', '2026-13-01', '2026', '1 Jan 2026']) {
      expect(refusal({ filters: { created_after: time } })).to.equal('INVALID_PARAM_VALUE /filters/created_after');
    }
    expect(refusal({ filters: { created_before: '2026-01-01T10:00:00+02:00' } })).to.equal('taken');
    expect(refusal({ filters: { created_before: '2026-01-01' } })).to.equal('taken');
  });

  it('pass on unknown filters', () => {
    const { filters } = readQueryArguments({ query: 'x', filters: { kind: 'FACT', colour: 'red' } }, 'team:d');
    expect(filters).to.deep.equal({ kind: ['FACT'], other: { colour: 'red' } });
  });
});

describe('a plain text question', () => {
  it('is split into words of every script', () => {
    expect(splitQuestion('Deploy the 港口城市, deploy!').terms).to.include.members(['deploy', 'the']);
    expect(splitQuestion('Deploy the deploy').terms).to.deep.equal(['deploy', 'the']);
    expect(splitQuestion('100%_done').phrase).to.equal('100%_done');
  });
});
