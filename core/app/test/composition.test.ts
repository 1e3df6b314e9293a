import { expect } from 'chai';
import { Composition, type Token } from '../composition.js';

const token = (name: string): Token<string> => ({ name });
const [first, second, third] = ['first', 'second', 'third'].map(token) as [Token<string>, Token<string>, Token<string>];

describe('the composition of a process', () => {
  let seen: string[];
  const part = (name: string) => [() => `${seen.push(`open ${name}`)}`, () => seen.push(`close ${name}`)] as const;
  beforeEach(() => {
    seen = [];
  });

  it('opens its parts in order and closes them in reverse, with what was added later', async () => {
    const composition = new Composition().part(first, ...part('1')).part(second, async (all) => {
      all.own(() => seen.push('undo 2'));
      return `${all.get(first)} and more`;
    });
    await composition.open();
    expect(composition.get(second)).to.equal('1 and more');
    composition.own(() => seen.push('close late'));
    await composition.close();
    expect(seen).to.deep.equal(['open 1', 'close late', 'undo 2', 'close 1']);
  });

  it('closes what was open when a later part fails, and reports that failure', async () => {
    const composition = new Composition()
      .part(first, ...part('1'))
      .part(
        second,
        () => 'two',
        () => {
          throw new Error('cannot close');
        },
      )
      .part(third, () => {
        throw new Error('the port is taken');
      });
    const error = await composition.open().catch((thrown: unknown) => thrown);
    expect((error as Error).message).to.equal('the port is taken');
    expect(seen).to.deep.equal(['open 1', 'close 1']);
  });

  it('gives only parts that are open, and none for a part that this process does not have', async () => {
    const composition = new Composition().part(first, () => undefined).part(second, () => 'two');
    expect(() => composition.get(second)).to.throw('"second" is not open');
    await composition.open();
    expect([composition.find(first), composition.find(second)]).to.deep.equal([undefined, 'two']);
    expect(() => composition.get(first)).to.throw('"first" is not open');
  });
});
