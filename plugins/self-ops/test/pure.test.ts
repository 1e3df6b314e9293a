import { expect } from 'chai';
import { applyPatch } from 'diff';
import fc from 'fast-check';
import { applyOperation } from '../mutations/apply-operation.js';
import { changedSecrets, maskLine, secretWordsIn } from '../mutations/secrets.js';
import { contentHash, unifiedDiff } from '../mutations/unified-diff.js';

const patched = (content: unknown, ...patch: object[]) =>
  applyOperation(content, 'providers', {
    target: 'provider_config',
    operation: { kind: 'json_patch', path: '', patch },
  });

describe('operations on documents', () => {
  it('follow RFC 6902, and create the parents of added values', () => {
    const content = { a: { 'x/y': [1, 2], '~': 1 } };
    expect(patched(content, { op: 'add', path: '/a/x~1y/-', value: 3 })).to.deep.equal({
      a: { 'x/y': [1, 2, 3], '~': 1 },
    });
    expect(patched(content, { op: 'add', path: '/a/x~1y/0', value: 0 })).to.deep.include({
      a: { 'x/y': [0, 1, 2], '~': 1 },
    });
    expect(patched(content, { op: 'remove', path: '/a/~0' })).to.deep.equal({ a: { 'x/y': [1, 2] } });
    expect(patched({}, { op: 'add', path: '/p/q/r', value: 1 })).to.deep.equal({ p: { q: { r: 1 } } });
    expect(
      patched({ a: 1 }, { op: 'test', path: '/a', value: 1 }, { op: 'replace', path: '/a', value: 2 }),
    ).to.deep.equal({
      a: 2,
    });
    expect(patched({ a: 1 }, { op: 'replace', path: '', value: { b: 1 } })).to.deep.equal({ b: 1 });
    expect(content).to.deep.equal({ a: { 'x/y': [1, 2], '~': 1 } });
  });

  it('are refused as a whole when one of them does not fit', () => {
    for (const operation of [
      { op: 'replace', path: '/none', value: 1 },
      { op: 'remove', path: '/none' },
      { op: 'test', path: '/a', value: 2 },
      { op: 'move', from: '/a', path: '/b' },
      { op: 'add', path: 'a', value: 1 },
      { op: 'add', path: '/a~2', value: 1 },
      { op: 'add', path: '/a' },
      { op: 'add', path: '/a/b', value: 1 },
      { op: 'remove', path: '' },
      { op: 'add', path: '/__proto__/polluted', value: 1 },
      { op: 'add', path: '/constructor/prototype/polluted', value: 1 },
    ]) {
      expect(() => patched({ a: 1 }, operation), JSON.stringify(operation))
        .to.throw()
        .with.property('code', 'invalid_request');
    }
    expect({}).to.not.have.property('polluted');
  });
});

describe('the difference of two texts', () => {
  it('turns the old text into the new one', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((all) => all.join('\n'));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = unifiedDiff({ path: 'x', kind: 'text', before, after });
        expect(before === after ? diff : applyPatch(before, diff)).to.equal(before === after ? '' : after);
      }),
    );
  });

  it('is one hunk when the texts are too different to compare in time', () => {
    const before = Array.from({ length: 60_000 }, (_, index) => `${(index * 7_919) % 60_013}`).join('\n');
    const after = Array.from({ length: 60_000 }, (_, index) => `${(index * 104_729) % 60_017}`).join('\n');
    const diff = unifiedDiff({ path: 'x', kind: 'text', before, after });
    expect(diff.slice(0, 80)).to.contain('@@ -1,60000 +1,60000 @@');
  });

  it('shows no value of a secret', () => {
    const draft = { path: 'x', kind: 'text', before: 'OPENAI_API_KEY=old\n', after: 'OPENAI_API_KEY=new\n' } as const;
    expect(unifiedDiff(draft)).to.contain('-OPENAI_API_KEY=***\n+OPENAI_API_KEY=*** (changed)\n');
    expect(maskLine('  "api_key": "abc",', false)).to.equal('  "api_key": ***');
    expect(secretWordsIn(['use api_key and MY_TOKEN, not my_token or KEY'])).to.deep.equal(['MY_TOKEN', 'api_key']);
  });
});

describe('the secrets that a change concerns', () => {
  it('are the lines that differ', () => {
    const before = { a: { api_key: 'x', headers: { 'x-api-key': '1', accept: '*' } }, b: { env: { MY_TOKEN: 't' } } };
    expect(changedSecrets(before, structuredClone(before))).to.deep.equal([]);
    const after = {
      a: { headers: { 'x-api-key': '2', accept: 'json' } },
      b: { env: { MY_TOKEN: 't' } },
      'c/d': { client_secret: 's' },
    };
    expect(changedSecrets(before, after)).to.deep.equal(['/a/api_key', '/a/headers/x-api-key', '/c~1d/client_secret']);
  });

  it('count as changed when an address sends them to another server', () => {
    const at = (base_url?: string) => ({ a: { api_key: 'k', ...(base_url === undefined ? {} : { base_url }) } });
    const known = 'https://api.example.com/v1';
    for (const other of [
      'https://evil.example/v1',
      'http://api.example.com/v1',
      'https://api.example.com:444/v1',
      'x',
    ]) {
      expect(changedSecrets(at(known), at(other)), other).to.deep.equal(['/a/base_url']);
    }
    // The key may come from the environment, so that an address alone decides where it is sent.
    expect(changedSecrets(at(), at(known))).to.deep.equal(['/a/base_url']);
    expect(changedSecrets(at(known), at())).to.deep.equal(['/a/base_url']);
    expect(changedSecrets({}, { openai: { base_url: known } })).to.deep.equal(['/openai/base_url']);
    expect(changedSecrets({ a: { base_url: known } }, {})).to.deep.equal([]);
    for (const same of ['https://api.example.com/v2', 'https://API.example.com:443/v1/']) {
      expect(changedSecrets(at(known), at(same)), same).to.deep.equal([]);
    }
  });

  it('do not show in a hash of another order', () => {
    expect(contentHash('providers', { a: 1, b: 2 })).to.equal(contentHash('providers', { b: 2, a: 1 }));
    expect(contentHash('text', undefined)).to.equal('');
  });
});
