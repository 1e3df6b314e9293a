import { expect } from 'chai';
import type { FakeDialect } from 'mortise/contracts/memory-backend-openmemory/testing';
import { item, openSubject, type Subject } from './support.js';

const dialects: readonly FakeDialect[] = ['search', 'query'];

for (const dialect of dialects) {
  describe(`a server of the dialect ${dialect}`, () => {
    let subject: Subject;
    beforeEach(async () => {
      subject = await openSubject({ dialect, apiKey: 'k3y', env: { OM_API_KEY: 'k3y' } });
    });
    afterEach(() => subject.stop());

    const sent = (path: string) => subject.server.requests.find((request) => request.path === path);

    it('is not called before the first use', () => {
      expect(subject.server.requests).to.deep.equal([]);
    });

    it('gets the text, tags and metadata of a memory, with its key', async () => {
      const meta = { topic: 'deploys', space: 'mine', client_meta: 1 };
      const { id } = await subject.store({ meta });
      expect(id).to.equal('om-1');
      const request = sent('/memory/add');
      expect(request?.headers.authorization).to.equal('Bearer k3y');
      expect(request?.headers['x-api-key']).to.equal(dialect === 'query' ? 'k3y' : undefined);
      expect(request?.headers['idempotency-key']).to.equal('mk_1');
      expect(request?.body).to.deep.equal({
        content: 'Deploys happen on Tuesdays.',
        ...(dialect === 'search' ? { user_id: 'alice' } : {}),
        tags: ['space:private:alice', 'kind:FACT'],
        metadata: {
          topic: 'deploys',
          space: 'private:alice',
          kind: 'FACT',
          actor_user_id: 'alice',
          evidence: item().evidence,
          payload_sha: item().payloadSha,
          mortise_key: 'mk_1',
          correlation_id: 'corr-0123456789abcdef',
          client_meta: { space: 'mine', client_meta: 1 },
        },
      });
    });

    it('gets no user with a memory of a shared space', async () => {
      await subject.store({ space: 'team:a', kind: null });
      expect(sent('/memory/add')?.body).to.not.have.property('user_id');
      expect(sent('/memory/add')?.body).to.deep.include({ tags: ['space:team:a'] });
    });

    it('finds stored memories, with scores between 0 and 1', async () => {
      await subject.store();
      await subject.store({ memoryKey: 'mk_2', content: 'Coffee is brewed at nine.' });
      const { hits } = await subject.call((backend, ctx) =>
        backend.search({ query: 'deploys', spaces: ['private:alice'], filters: {}, limit: 5 }, ctx),
      );
      expect(hits).to.have.length(1);
      expect(hits[0]).to.deep.include({ id: 'om-1', content: 'Deploys happen on Tuesdays.', score: 0.99 });
      expect(hits[0]?.space).to.equal(dialect === 'search' ? 'private:alice' : undefined);
    });

    it('gets the filters that it supports', async () => {
      const filters = {
        minScore: 0.5,
        createdAfter: '2026-01-01T00:00:00Z',
        kind: ['FACT'],
        other: { sector: 's', x: 1 },
      };
      const { unknownFilters } = await subject.call((backend, ctx) =>
        backend.search({ query: 'x'.repeat(9_000), spaces: ['private:alice'], filters, limit: 400 }, ctx),
      );
      if (dialect === 'search') {
        expect(unknownFilters).to.deep.equal([]);
        expect(sent('/memory/search')?.body).to.deep.equal({
          query: 'x'.repeat(9_000),
          user_id: 'alice',
          limit: 400,
          filters: { kind: 'FACT', created_after: '2026-01-01T00:00:00Z', min_score: 0.5, sector: 's', x: 1 },
        });
      } else {
        expect(unknownFilters).to.deep.equal(['x']);
        expect(sent('/memory/query')?.body).to.deep.equal({
          query: 'x'.repeat(8_192),
          k: 200,
          filters: { sector: 's', min_score: 0.5, startTime: Date.parse('2026-01-01T00:00:00Z') },
        });
      }
    });

    it('gets no user when several spaces are searched', async () => {
      await subject.call((backend, ctx) =>
        backend.search({ query: 'q', spaces: ['private:alice', 'team:a'], filters: {}, limit: 5 }, ctx),
      );
      expect(sent(`/memory/${dialect}`)?.body).to.not.have.property('user_id');
    });

    it('is read by id, with null for an unknown id', async () => {
      const { id } = await subject.store();
      const memory = await subject.call((backend, ctx) => backend.get?.(id, ctx) ?? null);
      expect(memory).to.deep.include({ id, content: 'Deploys happen on Tuesdays.', space: 'private:alice' });
      expect(memory?.metadata).to.deep.include({ mortise_key: 'mk_1' });
      expect(memory?.createdAt).to.match(/Z$/);
      expect(await subject.call((backend, ctx) => backend.get?.('a/../b?c', ctx))).to.equal(null);
    });

    it('lists page by page, or reports that it cannot', async () => {
      for (const key of ['mk_1', 'mk_2', 'mk_3']) await subject.store({ memoryKey: key, content: `text ${key}` });
      const read = (cursor: string | null) => subject.call((backend, ctx) => backend.list?.(cursor, 2, ctx));
      if (dialect === 'search') {
        expect(await read(null).catch((error: { code: string }) => error.code)).to.equal('backend_list_unsupported');
        return;
      }
      const first = await read(null);
      expect(first?.items.map(({ id }) => id)).to.deep.equal(['om-3', 'om-2']);
      const second = await read(first?.next ?? null);
      expect(second?.items.map(({ id }) => id)).to.deep.equal(['om-1']);
      expect((await read(second?.next ?? null))?.next).to.equal(null);
    });

    if (dialect === 'query')
      it('continues a list after a page that is shorter than requested', async () => {
        const items = [{ id: 'om-1', content: 'text' }, { id: 'om-2' }];
        subject.server.fail('list', { kind: 'status', status: 200, body: { items } });
        const page = await subject.call((backend, ctx) => backend.list?.('7', 5, ctx));
        expect(page?.items.map(({ id }) => id)).to.deep.equal(['om-1']);
        expect(page?.next).to.equal('9');
        expect(subject.server.requests.at(-1)?.path).to.equal('/memory/all?l=5&u=7');
      });

    if (dialect === 'query')
      it('lists texts that are too long for one response in smaller pages', async () => {
        for (let n = 0; n < 50; n += 1) subject.server.put({ content: `${n} ${'x'.repeat(400_000)}` });
        const page = await subject.call((backend, ctx) => backend.list?.(null, 50, ctx));
        expect(page?.items.length).to.be.within(1, 25);
        expect(page?.next).to.equal(String(page?.items.length));
      });

    const find = (memoryKey: string, change: Partial<ReturnType<typeof item>> = {}) =>
      subject.call((backend, ctx) => backend.find?.({ ...item(change), memoryKey }, ctx));

    it('is searched for a memory by its key', async () => {
      await subject.store({ memoryKey: 'mk_other', meta: { other: true } });
      await subject.store();
      expect(await find('mk_1')).to.deep.equal({ id: 'om-2' });
      expect(await find('mk_9')).to.equal(null);
    });

    it('is searched for a memory without a key by space and exact text', async () => {
      const { content } = item();
      const { id } = subject.server.put({
        content,
        userId: 'alice',
        tags: ['space:private:alice'],
        metadata: { space: 'private:alice' },
      });
      expect(await find('mk_1')).to.deep.equal({ id });
      expect(await find('mk_1', { space: 'team:a' })).to.equal(null);
      expect(await find('mk_1', { content: 'Deploys happen on' })).to.equal(null);
    });

    if (dialect === 'query')
      it('is listed to the end when its search finds nothing', async () => {
        await subject.store();
        for (let n = 0; n < 600; n += 1) subject.server.put({ content: `other ${n}` });
        subject.server.fail('search', { kind: 'hits', hits: [] });
        expect(await find('mk_1')).to.deep.equal({ id: 'om-1' });
      });

    it('reports its health', async () => {
      const look = () => subject.call((backend, ctx) => backend.health(ctx));
      expect(await look()).to.deep.equal({ ok: true, detail: 'ready' });
      subject.server.fail(
        'health',
        { kind: 'status', status: 500 },
        { kind: 'status', status: 200, body: { ok: false } },
      );
      expect(await look()).to.deep.equal({ ok: false, detail: 'OpenMemory API error: 500' });
      expect((await look()).ok).to.equal(false);
      await subject.server.stop();
      // A pooled connection that the server has just closed, or no connection at all.
      expect((await look()).detail).to.match(/^OpenMemory connection failed: (ECONNREFUSED|UND_ERR_SOCKET)$/);
    });

    it('reports a memory that it merged into another', async () => {
      await subject.store({ content: 'first' });
      subject.server.fail('add', { kind: 'merge' });
      expect(await subject.store()).to.deep.equal({ id: 'om-1', deduplicated: true });
    });
  });
}

describe('the dialect', () => {
  let subject: Subject | undefined;
  afterEach(() => subject?.stop());

  const paths = () => subject?.server.requests.map(({ method, path }) => `${method} ${path}`);

  for (const dialect of dialects) {
    it(`${dialect} is detected from the health check, once`, async () => {
      subject = await openSubject({ dialect });
      await Promise.all([subject.store(), subject.store({ memoryKey: 'mk_2' })]);
      await subject.store({ memoryKey: 'mk_3' });
      expect(paths()?.filter((path) => path === 'GET /health')).to.have.length(1);
      expect(subject.server.memories.size).to.equal(3);
      expect(paths()).to.not.include('POST /memory/query');
    });

    it(`${dialect} is detected by a search when the health check does not show it`, async () => {
      subject = await openSubject({ dialect, health: { up: true } });
      await subject.store();
      const tried = dialect === 'query' ? ['query'] : ['query', 'search'];
      const searches = tried.map((name) => `POST /memory/${name}`);
      expect(paths()).to.deep.equal(['GET /health', ...searches, 'POST /memory/add']);
      const { body } = subject.server.requests.at(-1) ?? {};
      expect(Object.hasOwn(body as object, 'user_id')).to.equal(dialect === 'search');
    });

    it(`${dialect} is unchanged after a period in which a proxy had no route`, async () => {
      subject = await openSubject({ dialect, health: { up: true } });
      const { call, server, store } = subject;
      const search = () =>
        call((backend, ctx) => backend.search({ query: 'deploys', spaces: ['team:a'], filters: {}, limit: 5 }, ctx));
      await store({ space: 'private:alice' });
      server.failAlways('any', { kind: 'status', status: 404 });
      for (const ask of [() => store({ memoryKey: 'mk_2' }), search, search]) {
        const message = await ask().then(String, (error: Error) => error.message);
        expect(message).to.equal('OpenMemory API error: 404');
      }
      server.clearFaults();
      const before = server.requests.length;
      await store({ memoryKey: 'mk_2' });
      await search();
      expect(paths()?.slice(before)).to.deep.equal(['POST /memory/add', `POST /memory/${dialect}`]);
      expect(Object.hasOwn(server.requests[before]?.body as object, 'user_id')).to.equal(dialect === 'search');
      expect(server.memories.size).to.equal(2);
    });

    it(`${dialect} is unchanged when one route is missing for one request`, async () => {
      subject = await openSubject({ dialect, health: { up: true } });
      const { server, store } = subject;
      await store();
      server.fail('add', { kind: 'status', status: 404 });
      const message = await store({ memoryKey: 'mk_2' }).then(String, (error: Error) => error.message);
      expect(message).to.equal('OpenMemory API error: 404');
      expect(server.memories.size).to.equal(1);
      await store({ memoryKey: 'mk_2' });
      expect(Object.hasOwn(server.requests.at(-1)?.body as object, 'user_id')).to.equal(dialect === 'search');
    });

    it(`${dialect} is not mistaken for the other one behind a proxy without routes`, async () => {
      subject = await openSubject({ dialect, health: { up: true } });
      const { server, store } = subject;
      server.failAlways('any', { kind: 'status', status: 404 });
      const message = await store().then(String, (error: Error) => error.message);
      expect(message).to.equal('OpenMemory API error: 404');
      expect(paths()).to.not.include('POST /memory/add');
      server.clearFaults();
      await store();
      expect(Object.hasOwn(server.requests.at(-1)?.body as object, 'user_id')).to.equal(dialect === 'search');
    });

    it(`${dialect} is used when it is configured, whatever the server reports`, async () => {
      subject = await openSubject({ dialect, health: { up: true }, env: { MORTISE_OPENMEMORY_DIALECT: dialect } });
      await subject.store();
      expect(paths()).to.deep.equal(['POST /memory/add']);
    });
  }

  it('is detected again when a route is missing', async () => {
    subject = await openSubject({ dialect: 'query' });
    const { call, server } = subject;
    const search = () =>
      call((backend, ctx) => backend.search({ query: 'tuesdays', spaces: ['team:a'], filters: {}, limit: 5 }, ctx));
    await subject.store({ space: 'team:a' });
    expect((await search()).hits).to.have.length(1);
    server.setDialect('search');
    expect((await search()).hits[0]?.space).to.equal('team:a');
    const searches = ['POST /memory/query', 'POST /memory/search'];
    expect(paths()?.slice(-4)).to.deep.equal(['POST /memory/query', ...searches, 'POST /memory/search']);
    server.setDialect('query');
    expect((await search()).hits).to.have.length(1);
    expect(paths()?.at(-1)).to.equal('POST /memory/query');
  });

  it('does not change when the other one fails as well', async () => {
    subject = await openSubject({ dialect: 'query' });
    subject.server.failAlways('add', { kind: 'status', status: 404 });
    const message = await subject.store().catch((error: Error) => error.message);
    expect(message).to.equal('OpenMemory API error: 404');
  });
});
