import { expect } from 'chai';
import { type CallContext, extendContext } from '../context.js';

/** Like the kernel's lease, it creates members lazily and caches them in private members. */
class Lazy {
  #made = 0;

  get signal(): AbortSignal {
    this.#made += 1;
    return AbortSignal.abort(new Error('gone'));
  }

  get made(): number {
    return this.#made;
  }
}

describe('extendContext', () => {
  it('adds members and reads the others from the context on access', () => {
    const lazy = new Lazy();
    const extended = extendContext(extendContext(lazy as unknown as CallContext, { port: 1 }), { caller: 'agent' });
    expect(lazy.made).to.equal(0);
    expect(extended.signal.aborted).to.equal(true);
    expect(extended.port).to.equal(1);
    expect(extended.caller).to.equal('agent');
  });

  it('prefers an added member over one of the context', () => {
    const own = new AbortController().signal;
    expect(extendContext(new Lazy() as unknown as CallContext, { signal: own }).signal).to.equal(own);
  });
});
