import { expect } from 'chai';
import { lockGlobals } from '../lock-globals.js';

describe('the globals of the process', () => {
  before(lockGlobals);

  const ways: Readonly<Record<string, () => unknown>> = {
    'JSON.parse = …': () => (JSON.parse = () => ({})),
    'Promise.all = …': () => Reflect.apply(assign, Promise, ['all']),
    'Object.keys = …': () => (Object.keys = () => []),
    'Array.isArray = …': () => Reflect.apply(assign, Array, ['isArray']),
    'Buffer.from = …': () => Reflect.apply(assign, Buffer, ['from']),
    'delete Math.max': () => delete (Math as { max?: unknown }).max,
    'globalThis.JSON = …': () => Reflect.apply(assign, globalThis, ['JSON']),
    'globalThis.Buffer = …': () => Reflect.apply(assign, globalThis, ['Buffer']),
  };
  for (const [name, replace] of Object.entries(ways))
    it(`cannot be replaced: ${name}`, () => expect(replace).to.throw(TypeError));

  it('can still be set, inherited from and given more', () => {
    const { poolSize } = Buffer;
    const { stackTraceLimit } = Error;
    Buffer.poolSize = poolSize;
    Error.stackTraceLimit = stackTraceLimit;
    class Mine extends Promise<unknown> {
      static override all = () => Promise.resolve([]);
    }
    expect(Mine.all()).to.be.instanceOf(Promise);
    expect(Object.isExtensible(Promise)).to.equal(true);
  });
});

function assign(this: Record<string, unknown>, name: string): void {
  this[name] = () => undefined;
}
