import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { sealSecret, unsealSecret } from '../seal-secret.js';

describe('a stored secret', () => {
  const key = randomBytes(32);
  const place = 'providers/openai';

  it('is encrypted under a secret key, each time differently, and clear without one', () => {
    const sealed = sealSecret('sk-canary ✓', place, key);
    expect(sealed).to.match(/^aes-256-gcm:[A-Za-z0-9+/=]+$/);
    expect(sealed).to.not.equal(sealSecret('sk-canary ✓', place, key));
    expect(unsealSecret(sealed, place, key)).to.equal('sk-canary ✓');
    const clear = sealSecret('aes-256-gcm:text', place, undefined);
    expect(unsealSecret(clear, place, undefined)).to.equal('aes-256-gcm:text');
    expect(unsealSecret(clear, place, key)).to.equal('aes-256-gcm:text');
  });

  it('cannot be read with another key, at another path, or after it was altered', () => {
    const sealed = sealSecret('sk-canary', place, key);
    const altered = `${sealed.slice(0, -6)}${sealed.at(-6) === 'A' ? 'B' : 'A'}${sealed.slice(-5)}`;
    const attempts: [string, string, Uint8Array | undefined][] = [
      [sealed, place, randomBytes(32)],
      [sealed, place, undefined],
      [sealed, 'providers/other', key],
      [altered, place, key],
      ['aes-256-gcm:AAAA', place, key],
      ['unknown', place, key],
    ];
    for (const [stored, where, secret] of attempts) {
      expect(() => unsealSecret(stored, where, secret))
        .to.throw()
        .with.property('code', 'secret_unreadable');
    }
  });
});
