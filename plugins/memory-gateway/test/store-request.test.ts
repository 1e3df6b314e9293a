import { expect } from 'chai';
import type { MortiseError } from 'mortise/sdk';
import { codePoints, metaSha, sha256 } from '../store/hashes.js';
import { readStoreRequest } from '../store/store-request.js';

const principal = { id: 'local', admin: false, loopback: true, authenticated: false };

function read(args: Record<string, unknown>) {
  return readStoreRequest(args, { principal, correlationId: 'corr-1' }, 'team:demo');
}

function refusal(args: Record<string, unknown>): string {
  try {
    read({ payload_md: 'x', ...args });
    return 'taken';
  } catch (error) {
    const { code, details } = error as MortiseError;
    return `${code} ${details?.path}`;
  }
}

describe('the arguments of a store', () => {
  const rows: [string, Record<string, unknown>, string][] = [
    ['a blank payload', { payload_md: ' \n\t' }, 'INVALID_PARAM_VALUE /payload_md'],
    ['NUL in the payload', { payload_md: 'a\0b' }, 'INVALID_PARAM_VALUE /payload_md'],
    ['a lone surrogate', { payload_md: 'a\ud800b' }, 'INVALID_PARAM_VALUE /payload_md'],
    ['more than 1 MiB of UTF-8', { payload_md: '漢'.repeat(349_526) }, 'INVALID_PARAM_VALUE /payload_md'],
    ['more than 64 KiB of meta', { meta_json: { a: 'x'.repeat(65_536) } }, 'INVALID_PARAM_VALUE /meta_json'],
    ['NUL in meta', { meta_json: { a: ['\0'] } }, 'INVALID_PARAM_VALUE /meta_json'],
    ['a lone surrogate in evidence', { evidence: [{ uri: '\ud800' }] }, 'INVALID_PARAM_VALUE /evidence'],
    ['NUL in a reference', { evidence_refs: ['\0'] }, 'INVALID_PARAM_VALUE /evidence_refs'],
    ['a control character in the actor', { actor_user_id: 'a\u0001' }, 'INVALID_PARAM_VALUE /actor_user_id'],
    ['blanks around the actor', { actor_user_id: ' alice' }, 'INVALID_PARAM_VALUE /actor_user_id'],
  ];
  for (const [what, args, expected] of rows) {
    it(`refuse ${what}`, () => expect(refusal(args)).to.equal(expected));
  }

  it('accept text that only looks like that', () => {
    expect(refusal({ payload_md: '漢'.repeat(349_525) })).to.equal('taken');
    expect(refusal({ payload_md: '\\u0000 🙂 \u{10ffff}' })).to.equal('taken');
    expect(refusal({ meta_json: { a: '\\u0000', b: '\\\\ud800', c: '🙂', d: '\n' } })).to.equal('taken');
  });

  it('have defaults', () => {
    expect(read({ payload_md: 'x' })).to.deep.equal({
      payload: 'x',
      payloadLength: 1,
      payloadSha: sha256('x'),
      requestedSpace: 'team:demo',
      meta: {},
      kind: null,
      evidence: { items: [], source: 'none', refs: null },
      isBulk: false,
      itemId: null,
      claimedActor: null,
      actorUserId: null,
      principal,
      correlationId: 'corr-1',
    });
  });
});

describe('the hashes of a memory', () => {
  const none = { kind: null, meta: {}, evidence: [], itemId: null };

  it('are those of its UTF-8 bytes', () => {
    expect(sha256('hello')).to.equal('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824');
  });

  it('do not depend on the order of members', () => {
    const a = metaSha({ ...none, meta: { x: 1, y: { b: 1, a: 2 } } });
    expect(metaSha({ ...none, meta: { y: { a: 2, b: 1 }, x: 1 } })).to.equal(a);
    expect(metaSha({ ...none, meta: { x: 2, y: { a: 2, b: 1 } } })).not.to.equal(a);
  });

  it('treat absent, null and empty as equal', () => {
    expect(metaSha(none)).to.equal(sha256('{}'));
  });

  it('distinguish kind, meta, evidence and item', () => {
    const shas = [
      none,
      { ...none, kind: 'FACT' },
      { ...none, meta: { a: 1 } },
      { ...none, evidence: [{ uri: 'x' }] },
      { ...none, itemId: 1 },
      { ...none, salt: 's' },
    ].map(metaSha);
    expect(new Set(shas).size).to.equal(6);
  });

  it('count code points, not UTF-16 units', () => {
    expect(codePoints('🙂a漢')).to.equal(3);
    expect(codePoints('🙂'.repeat(1_200))).to.equal(1_200);
  });
});
