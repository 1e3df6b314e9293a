import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createSchemaCompiler, loadSchema } from '../../schema/index.js';
import { type ManifestMount, MortiseError } from '../../sdk/index.js';
import { toFailure } from '../envelope.js';
import { defaultMount, Mounts, type ReadSetting } from '../mounts.js';
import { RefusedRequest } from '../refusals.js';
import { testMounts } from './test-mounts.js';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
const mebibyte = 1024 * 1024;
const ids = { requestId: 'r', correlationId: 'c' };

const compiled = (mount: ManifestMount, setting: ReadSetting = () => undefined) =>
  new Mounts([mount], setting).of(mount);

describe('mounts', () => {
  it('equal the default mount if they declare nothing', () => {
    expect(compiled({ name: 'empty' })).to.deep.equal(defaultMount);
    expect(new Mounts([], () => undefined).of({ name: 'unknown' })).to.equal(defaultMount);
  });

  it('may have a limit that follows a setting, within bounds', () => {
    const rpc = testMounts.find(({ name }) => name === 'rpc');
    if (!rpc) throw new Error('there is no mount rpc');
    const limit = (value: unknown) =>
      compiled(rpc, (plugin, name) => (plugin === 'evidence' && name === 'evidence_bytes' ? value : undefined))
        .maxBytes;
    expect(limit(undefined)).to.equal(4 * mebibyte);
    expect(limit('5')).to.equal(4 * mebibyte);
    expect(limit(mebibyte)).to.equal(4 * mebibyte);
    expect(limit(4 * mebibyte)).to.equal(6 * mebibyte + 64 * 1024);
    expect(limit(3)).to.equal(4 * mebibyte);
    expect(limit(100 * mebibyte)).to.equal(20 * mebibyte);
  });

  it('answer paths below the longest prefix', () => {
    const outer: ManifestMount = { name: 'outer', prefix: '/a', maxDepth: 1 };
    const inner: ManifestMount = { name: 'inner', prefix: '/a/b', maxDepth: 2 };
    const mounts = new Mounts([outer, inner], () => undefined);
    expect(['/a', '/a/x', '/a/b', '/a/b/c', '/ab', '/'].map((path) => mounts.ofPath(path).maxDepth)).to.deep.equal([
      1,
      1,
      2,
      2,
      defaultMount.maxDepth,
      defaultMount.maxDepth,
    ]);
  });

  it('answer paths below each of several prefixes', () => {
    const mounts = new Mounts([{ name: 'both', prefix: ['/a', '/b/c'], maxDepth: 1 }], () => undefined);
    expect(['/a/x', '/b/c', '/b'].map((path) => mounts.ofPath(path).maxDepth)).to.deep.equal([
      1,
      1,
      defaultMount.maxDepth,
    ]);
  });

  it('render a member of the details, with a default for errors without it', () => {
    const { envelope } = compiled({ name: 'param', envelope: { param: { $from: 'details.param', default: null } } });
    const failed = (details?: object) => toFailure(new MortiseError('a', 'b', { details: { ...details } }));
    expect(envelope(failed({ param: 'n' }), ids)).to.deep.equal({ param: 'n' });
    expect(envelope(failed(), ids)).to.deep.equal({ param: null });
    expect(envelope(toFailure(new MortiseError('a', 'b')), ids)).to.deep.equal({ param: null });
  });

  it('render envelopes with lists, maps and defaults', () => {
    const { envelope } = compiled({
      name: 'listed',
      envelope: {
        errors: [{ code: '{code}', hint: '{hint}', at: { $from: 'details', default: {} } }, null, 'literal', 1],
        kind: { $from: 'status', map: { 429: 'limit' } },
        status: '{status}',
      },
    });
    const failure = toFailure(new RefusedRequest('rate_limited', { retryable: true }));
    expect(envelope(failure, ids)).to.deep.equal({
      errors: [{ code: 'rate_limited', at: {} }, null, 'literal', 1],
      kind: 'limit',
      status: 429,
    });
    expect(envelope(toFailure(new Error('canary')), ids)).to.deep.equal({
      errors: [{ code: 'internal_error', at: {} }, null, 'literal', 1],
      status: 500,
    });
  });

  it('are checked by the schema of manifests', async () => {
    const schema = createSchemaCompiler().compile(await loadSchema(repository, 'plugin'), {
      name: 'plugin.schema.json',
    });
    const check = (mount: object) =>
      schema.check({ manifestVersion: 1, key: 'a', version: '1.0.0', title: 'A', summary: 'A.', mounts: [mount] });
    for (const mount of testMounts) expect(check(mount), mount.name).to.deep.equal([]);
    for (const wrong of [
      { name: 'a', envelope: { error: '{stack}' } },
      { name: 'a', envelope: { error: 'see {code}' } },
      { name: 'a', envelope: { error: { $from: 'secret' } } },
      { name: 'a', prefix: '/a/' },
      { name: 'a', prefix: [] },
      { name: 'a', envelope: { error: { $from: 'secret.param' } } },
      { name: 'a', maxBytes: -1 },
      { name: 'a', cors: 'any' },
      { envelope: {} },
    ]) {
      expect(check(wrong), JSON.stringify(wrong)).not.to.deep.equal([]);
    }
  });
});
