import { expect } from 'chai';
import type { CallContext } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';

const nobody = { capabilities: undefined };

/** As the kernel's lease: what it makes when asked is kept in private members. */
class Call {
  #made = 0;

  get correlationId(): string {
    this.#made += 1;
    return 'corr-0123456789abcdef';
  }

  get made(): number {
    return this.#made;
  }
}

describe('the context of a call with a client', () => {
  it('reads from the call itself, and only when it is asked', () => {
    const call = new Call();
    const context = new ClientContext(call as unknown as CallContext, nobody);
    expect(call.made).to.equal(0);
    expect(context.correlationId).to.equal('corr-0123456789abcdef');
    expect(call.made).to.equal(1);
  });

  it('offers nothing that its client did not ask for', () => {
    const context = new ClientContext(new Call() as unknown as CallContext, nobody);
    expect(context.progress).to.equal(undefined);
    expect(context.requireInput).to.equal(undefined);
    expect(() => context.requireCapability('sampling')).to.throw();
  });

  it('cannot be changed for the calls of others', () => {
    const shared = Object.getPrototypeOf(new ClientContext(new Call() as unknown as CallContext, nobody)) as object;
    expect(Object.isFrozen(shared)).to.equal(true);
  });
});
