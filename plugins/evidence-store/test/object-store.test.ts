import { expect } from 'chai';
import type { ArtifactStore } from 'mortise/contracts/evidence-store';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';
import { credentials, type FakeObjectStore, startFakeObjectStore } from './fake-object-store.js';

describe('an object store', () => {
  let server: FakeObjectStore;
  let host: TestHost;
  let artifacts: ArtifactStore;

  const open = async (change: Readonly<Record<string, string>> = {}) => {
    server = await startFakeObjectStore();
    host = await createTestHost({
      plugins: ['evidence-store'],
      listen: false,
      env: {
        MORTISE_ARTIFACTS_BACKEND: 'object',
        MORTISE_OBJECT_STORE_ENDPOINT: server.endpoint,
        MORTISE_OBJECT_STORE_BUCKET: 'evidence',
        MORTISE_OBJECT_STORE_REGION: credentials.region,
        MORTISE_OBJECT_STORE_ACCESS_KEY_ID: credentials.accessKeyId,
        MORTISE_OBJECT_STORE_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        ...change,
      },
    });
    artifacts = host.service('artifacts');
  };
  afterEach(async () => {
    await host.stop();
    await server.stop();
  });

  const bytes = (text: string) => Buffer.from(text);
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'none',
      (error: { code: string }) => error.code,
    );

  it('writes, reads and describes files with signed requests', async () => {
    await open();
    const put = await artifacts.put('a/b c+ü(1).txt', bytes('hello'));
    expect(put).to.deep.include({ uri: 's3://evidence/a/b%20c%2B%C3%BC(1).txt', sizeBytes: 5, created: true });
    expect([...server.objects.keys()]).to.deep.equal(['/evidence/a/b%20c%2B%C3%BC%281%29.txt']);
    expect(Buffer.from((await artifacts.get('a/b c+ü(1).txt')).data).toString()).to.equal('hello');
    expect(await artifacts.stat('a/b c+ü(1).txt')).to.deep.include({ sha256: put.sha256, sizeBytes: 5 });
    expect(artifacts.keyOf(put.uri)).to.equal('a/b c+ü(1).txt');
    expect(server.log.some((line) => line.endsWith('403'))).to.equal(false);
  });

  it('writes the same bytes once', async () => {
    await open();
    await artifacts.put('k', bytes('hello'));
    expect((await artifacts.put('k', bytes('hello'))).created).to.equal(false);
    expect(server.log.filter((line) => line.startsWith('PUT'))).to.have.length(1);
    expect(await codeOf(artifacts.put('k', bytes('other')))).to.equal('ARTIFACT_OVERWRITE_DENIED');
  });

  it('retries three times, whatever the failure', async () => {
    await open();
    server.fail({ kind: 'status', status: 503 }, { kind: 'reset' }, { kind: 'status', status: 429 });
    expect((await artifacts.put('k', bytes('hello'))).created).to.equal(true);
    expect(server.log.map((line) => line.split(' ')[0])).to.deep.equal(['HEAD', 'HEAD', 'HEAD', 'HEAD', 'PUT']);
    server.fail({ kind: 'truncate' });
    expect((await artifacts.get('k')).sizeBytes).to.equal(5);
  });

  it('fails after the last retry', async () => {
    await open();
    server.fail(...Array.from({ length: 4 }, () => ({ kind: 'status', status: 500 }) as const));
    const error = await artifacts.put('k', bytes('hello')).catch((thrown) => thrown);
    expect(error).to.deep.include({ code: 'OBJECT_STORE_ERROR', retryable: true });
    expect(server.log).to.have.length(4);
  });

  it('does not retry a rejected key', async () => {
    await open({ MORTISE_OBJECT_STORE_SECRET_ACCESS_KEY: 'wrong-secret' });
    const error = await artifacts.put('k', bytes('hello')).catch((thrown) => thrown);
    expect(error).to.deep.include({ code: 'OBJECT_STORE_ERROR', details: { status: 403 } });
    expect(server.log.map((line) => line.split(' ')[0])).to.deep.equal(['HEAD', 'PUT']);
    expect(JSON.stringify([error.message, error.details, host.logs])).to.not.contain('wrong-secret');
  });

  it('reports what is missing when it is not configured', async () => {
    await open({ MORTISE_OBJECT_STORE_BUCKET: '' });
    const error = await artifacts.put('k', bytes('hello')).catch((thrown) => thrown);
    expect(error.code).to.equal('OBJECT_STORE_NOT_CONFIGURED');
    expect(error.message).to.contain('MORTISE_OBJECT_STORE_ENDPOINT');
    expect(server.log).to.deep.equal([]);
  });

  it('reports absent files and files that are too large', async () => {
    await open();
    expect(await artifacts.stat('none')).to.equal(null);
    expect(await codeOf(artifacts.get('none'))).to.equal('ARTIFACT_NOT_FOUND');
    server.put('/evidence/big', 'x'.repeat(2_000));
    expect(await codeOf(artifacts.get('big', { maxBytes: 1_999 }))).to.equal('PAYLOAD_TOO_LARGE');
    expect((await artifacts.get('big', { maxBytes: 2_000 })).sizeBytes).to.equal(2_000);
  });

  it('aborts when the caller aborts', async () => {
    await open();
    server.fail({ kind: 'status', status: 500 });
    const controller = new AbortController();
    const call = artifacts.get('k', { signal: controller.signal });
    controller.abort(new Error('gone'));
    expect(await call.catch((error: Error) => error.message)).to.equal('gone');
  });
});
