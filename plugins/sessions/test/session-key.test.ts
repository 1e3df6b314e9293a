import { expect } from 'chai';
import fc from 'fast-check';
import type { SessionRef } from 'mortise/contracts/sessions';
import { newId } from 'mortise/sdk';
import { parseSessionKey, sessionKey } from '../contract/session-key.js';

const part = fc.stringMatching(/^[a-z:%3A2-5]{1,12}$/);
const anySession = fc.record({ channel: part, userId: part, sessionId: part });

describe('session key', () => {
  it('escapes characters that would make two sessions look alike', () => {
    expect(sessionKey({ channel: 'console', userId: 'a:b', sessionId: 'c' })).to.equal('console:a%3Ab:c');
    expect(sessionKey({ channel: 'console', userId: 'a', sessionId: 'b:c' })).to.equal('console:a:b:c');
  });

  it('is different for different sessions, and can be parsed again', () => {
    fc.assert(
      fc.property(anySession, anySession, (a: SessionRef, b: SessionRef) => {
        expect(parseSessionKey(sessionKey(a))).to.deep.equal(a);
        if (sessionKey(a) === sessionKey(b)) expect(a).to.deep.equal(b);
      }),
    );
  });

  it('accepts no other text', () => {
    for (const text of ['', 'default', 'user:alice', ':u:s', 'c::s', 'c:u:', 'a%:b:c', 'a:%41:c']) {
      expect(parseSessionKey(text), text).to.equal(undefined);
    }
  });
});

describe('ids', () => {
  it('have 19 digits and increase', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('turn'));
    for (const id of ids) expect(id).to.match(/^turn-\d{19}$/);
    expect(ids.toSorted()).to.deep.equal(ids);
    expect(new Set(ids).size).to.equal(ids.length);
  });
});
