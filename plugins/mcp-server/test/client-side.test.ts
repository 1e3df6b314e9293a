import { expect } from 'chai';
import type { CallContext } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';

const noCapabilities = { capabilities: undefined };

/** Like the kernel's lease: values are computed on access and stored in private members. */
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
  it('reads from the call lazily', () => {
    const call = new Call();
    const context = new ClientContext(call as unknown as CallContext, noCapabilities);
    expect(call.made).to.equal(0);
    expect(context.correlationId).to.equal('corr-0123456789abcdef');
    expect(call.made).to.equal(1);
  });

  it('has no functions that its client did not ask for', () => {
    const context = new ClientContext(new Call() as unknown as CallContext, noCapabilities);
    expect(context.progress).to.equal(undefined);
    expect(context.requireInput).to.equal(undefined);
    expect(() => context.requireCapability('sampling')).to.throw();
  });

  it('has a frozen prototype, because all calls share it', () => {
    const shared = Object.getPrototypeOf(
      new ClientContext(new Call() as unknown as CallContext, noCapabilities),
    ) as object;
    expect(Object.isFrozen(shared)).to.equal(true);
  });
});
