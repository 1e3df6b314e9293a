import { createHash } from 'node:crypto';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  eachDatabase,
  type TestEngine,
  type TestHost,
  temporaryFolder,
} from 'mortise/sdk/testing';

type Json = Readonly<Record<string, unknown>>;

const sha = (text: string) => createHash('sha256').update(text).digest('hex');

describe('the logbook tools', () => {
  eachDatabase((engine: TestEngine) => {
    let host: TestHost;
    let database: Database;

    const open = async (env: Readonly<Record<string, string>> = {}) => {
      const probe = databaseProbe(['logbook', 'scm']);
      host = await createTestHost({
        plugins: ['mcp-server', 'memory-gateway', 'memory-backend-local', 'logbook-tools'],
        database: engine.env,
        env,
        extra: [probe.plugin],
      });
      database = probe.database;
    };
    afterEach(() => host.stop());

    const rpc = async (method: string, params: object, headers?: Readonly<Record<string, string>>) =>
      (await (await host.post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers)).json()) as {
        readonly result?: Json;
        readonly error?: { readonly code: number; readonly data: Json };
      };
    const call = async (name: string, args: object, headers?: Readonly<Record<string, string>>) => {
      const { result, error } = await rpc('tools/call', { name, arguments: args }, headers);
      const [content] = (result?.content ?? []) as readonly { readonly text: string }[];
      return { error, ...(JSON.parse(content?.text ?? '{}') as Json) } as Json & { readonly error: typeof error };
    };
    const lastAudit = async () => (await host.service('audit').query({ limit: 1 })).rows[0];
    const upload = async (content: string) => {
      const kept = await call('evidence_upload', { content, content_type: 'text/plain' });
      return { ...kept, uri: String((kept.evidence as Json).uri) } as Json & { readonly uri: string };
    };

    it('refuse numbers that cannot be stored unchanged', async () => {
      await open();
      const args = '{"namespace":"n","key":"k","value_json":{"a":[1e400]}}';
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logbook_set_kv","arguments":${args}}}`;
      const headers = { 'content-type': 'application/json' };
      const response = await host.fetch('/mcp', { method: 'POST', headers, body });
      const { error } = (await response.json()) as { readonly error?: { readonly code: number; readonly data: Json } };
      expect(error?.code).to.equal(-32602);
      expect(error?.data).to.include({ reason: 'INVALID_PARAM_VALUE' });
      expect(JSON.stringify(error?.data)).to.include('/value_json/a/0');
      expect(await call('logbook_get_kv', { namespace: 'n', key: 'k' })).to.not.have.nested.property('value_json.a');
    });

    it('are fourteen, listed after the five of the gateway', async () => {
      await open();
      const { result } = await rpc('tools/list', {});
      const listed = (result?.tools ?? []) as readonly { readonly name: string }[];
      const names = listed.map(({ name }) => name);
      expect(names).to.have.length(19);
      expect(names.slice(5)).to.deep.equal([...names.slice(5)].sort());
      expect(names.slice(5)).to.include.members(['evidence_read', 'artifacts_put', 'scm_materialize_patch_blob']);
    });

    it('evidence_read returns what was uploaded, with its hash verified', async () => {
      await open();
      const kept = await upload('hällo');
      const { uri } = kept;
      const read = await call('evidence_read', { uri });
      expect(read).to.deep.include({
        ok: true,
        resource_type: 'attachments',
        resource_id: String(kept.attachment_id),
        sha256: kept.sha256,
        size_bytes: 6,
        artifact_uri: kept.artifact_uri,
        uri,
        content_text: 'hällo',
        encoding: 'utf-8',
      });
      const raw = await call('evidence_read', { uri, encoding: 'base64' });
      expect(raw.content_base64).to.equal(Buffer.from('hällo').toString('base64'));
      const bare = await call('evidence_read', { uri, include_content: false });
      expect(bare).to.deep.include({ ok: true, size_bytes: 6 }).and.not.have.any.keys('content_text', 'content_base64');
      expect((await call('evidence_read', { uri, max_bytes: 5 })).error_code).to.equal('PAYLOAD_TOO_LARGE');
    });

    it('evidence_read reports invalid evidence', async () => {
      await open();
      const kept = await upload('hello');
      const id = String(kept.attachment_id);
      const code = async (uri: string, more: object = {}) => (await call('evidence_read', { uri, ...more })).error_code;
      expect(await code('https://example.org')).to.equal('INVALID_URI');
      expect(await code(`memory://attachments/${id}/abc`)).to.equal('INVALID_URI');
      expect(await code(`memory://attachments/4711/${sha('hello')}`)).to.equal('NOT_FOUND');
      expect(await code(`memory://attachments/${'9'.repeat(40)}/${sha('hello')}`)).to.equal('NOT_FOUND');
      expect(await code(`memory://attachments/${id}/${sha('other')}`)).to.equal('CHECKSUM_MISMATCH');
      const file = join(host.dataDir, 'data', 'artifacts', 'attachments', 'evidence', sha('hello').slice(0, 2));
      await writeFile(join(file, `${sha('hello')}.txt`), 'jello');
      expect(await code(kept.uri)).to.equal('CHECKSUM_MISMATCH');
      const unchecked = await call('evidence_read', { uri: kept.uri, verify_sha256: false });
      expect(unchecked.content_text).to.equal('jello');
    });

    it('artifacts are written, found and read, and never overwritten', async () => {
      await open();
      const put = await call('artifacts_put', { path: 'notes/a.txt', content: 'hello', expected_sha256: sha('hello') });
      expect(put).to.deep.include({
        ok: true,
        uri: 'artifact://local/notes/a.txt',
        sha256: sha('hello'),
        size_bytes: 5,
      });
      expect(await lastAudit()).to.deep.include({
        action: 'allow',
        operation: 'logbook-tools:artifacts_put',
        reason: 'logbook-tools:done',
        targetSpace: 'artifact:notes/a.txt',
      });
      for (const name of [{ path: 'notes/a.txt' }, { uri: 'artifact://local/notes/a.txt' }, { uri: 'notes/a.txt' }]) {
        expect(await call('artifacts_get', name)).to.deep.include({ ok: true, content_text: 'hello', size_bytes: 5 });
        expect(await call('artifacts_exists', name)).to.deep.include({ ok: true, exists: true, sha256: sha('hello') });
      }
      expect(await call('artifacts_exists', { path: 'none' })).to.deep.include({
        ok: true,
        exists: false,
        uri: 'artifact://local/none',
        sha256: null,
        size_bytes: null,
      });
      const binary = Buffer.from([0, 255, 1]).toString('base64');
      await call('artifacts_put', { path: 'b', content_base64: binary });
      expect(await call('artifacts_get', { path: 'b' })).to.deep.include({ content_base64: binary });
      const both = await call('artifacts_put', { path: 'd', content: 'a', content_base64: binary });
      expect(both.error).to.deep.include({ code: -32602 });
      expect(await call('artifacts_exists', { path: 'd' })).to.deep.include({ exists: false });
      await call('artifacts_put', { path: 'c', content: binary, encoding: 'base64' });
      expect((await call('artifacts_get', { path: 'c' })).sha256).to.equal(
        (await call('artifacts_get', { path: 'b' })).sha256,
      );
    });

    const refusals: readonly [string, string, Json, string][] = [
      ['no name', 'artifacts_put', { content: 'a' }, 'MISSING_REQUIRED_PARAMETER'],
      ['no content', 'artifacts_put', { path: 'a' }, 'MISSING_REQUIRED_PARAMETER'],
      ['a foreign URI', 'artifacts_put', { uri: 's3://x/y', content: 'a' }, 'INVALID_URI'],
      ['a path out of the root', 'artifacts_put', { path: '../a', content: 'a' }, 'PATH_TRAVERSAL_ERROR'],
      ['a path out of the root as a URI', 'artifacts_put', { uri: '../a', content: 'a' }, 'PATH_TRAVERSAL_ERROR'],
      ['another hash', 'artifacts_put', { path: 'a', content: 'a', expected_sha256: sha('b') }, 'CHECKSUM_MISMATCH'],
      ['a path out of the root', 'artifacts_get', { path: 'a/../../b' }, 'PATH_TRAVERSAL_ERROR'],
      ['what is not there', 'artifacts_get', { path: 'none' }, 'ARTIFACT_NOT_FOUND'],
      ['no name', 'artifacts_exists', {}, 'MISSING_REQUIRED_PARAMETER'],
      ['no such owner', 'logbook_create_item', { item_type: 't', title: 't', owner_user_id: 'eve' }, 'NOT_FOUND'],
      ['no such item', 'logbook_add_event', { item_id: 4711, event_type: 't' }, 'NOT_FOUND'],
      ['no such item', 'logbook_attach', { item_id: 4711, kind: 'k', uri: 'u', sha256: sha('a') }, 'NOT_FOUND'],
      ['no name', 'scm_patch_blob_resolve', { source_type: 'git' }, 'MISSING_REQUIRED_PARAMETER'],
      ['another URI', 'scm_patch_blob_resolve', { evidence_uri: 'https://example.org' }, 'INVALID_URI'],
      ['no such patch', 'scm_patch_blob_resolve', { sha256: sha('none') }, 'NOT_FOUND'],
      ['no such patch', 'scm_materialize_patch_blob', { blob_id: 4711 }, 'NOT_FOUND'],
    ];
    it('refuse with a code and write nothing; refused changes are audited', async () => {
      await open();
      const reading = /get|exists|resolve/;
      for (const [what, name, args, code] of refusals) {
        const answer = await call(name, args);
        expect(answer, `${name}: ${what}`).to.deep.include({ ok: false, error_code: code, retryable: false });
        expect(answer.message, name).to.be.a('string').and.not.contain('{');
        const audit = await lastAudit();
        if (reading.test(name)) expect(audit?.operation).to.not.equal(`logbook-tools:${name}`);
        else {
          expect(audit, name).to.deep.include({
            action: 'reject',
            operation: `logbook-tools:${name}`,
            reason: `logbook-tools:${code}`,
          });
        }
      }
      expect((await call('logbook_query_items', {})).count).to.equal(0);
    });

    it('artifacts that exist, are too large, or may not be written are refused', async () => {
      await open({ MORTISE_ARTIFACTS_MAX_SIZE_BYTES: '10' });
      await call('artifacts_put', { path: 'a', content: 'hello' });
      expect((await call('artifacts_put', { path: 'a', content: 'other' })).error_code).to.equal(
        'ARTIFACT_OVERWRITE_DENIED',
      );
      expect((await call('artifacts_put', { path: 'b', content: '0123456789a' })).error_code).to.equal(
        'ARTIFACT_SIZE_LIMIT_EXCEEDED',
      );
      expect((await call('artifacts_get', { path: 'a', max_bytes: 4 })).error_code).to.equal('PAYLOAD_TOO_LARGE');
      expect(await readFile(join(host.dataDir, 'data', 'artifacts', 'a'), 'utf8')).to.equal('hello');
      await host.stop();
      await open({ MORTISE_ARTIFACTS_READ_ONLY: 'true' });
      expect((await call('artifacts_put', { path: 'a', content: 'x' })).error_code).to.equal('ARTIFACT_WRITE_DISABLED');
      await host.stop();
      await open({ MORTISE_ARTIFACTS_BACKEND: 'object' });
      expect((await call('artifacts_get', { path: 'a' })).error_code).to.equal('OBJECT_STORE_NOT_CONFIGURED');
      await host.stop();
      await open({
        MORTISE_ARTIFACTS_BACKEND: 'object',
        MORTISE_OBJECT_STORE_ENDPOINT: 'http://127.0.0.1:1',
        MORTISE_OBJECT_STORE_BUCKET: 'bucket',
        MORTISE_OBJECT_STORE_ACCESS_KEY_ID: 'id',
        MORTISE_OBJECT_STORE_SECRET_ACCESS_KEY: 'key',
      });
      const dead = await call('artifacts_get', { path: 'a' });
      expect(dead).to.deep.include({ error_code: 'OBJECT_STORE_ERROR', retryable: true });
      await host.stop();
      const folder = temporaryFolder('no-root');
      await writeFile(join(folder, 'file'), '');
      await open({ MORTISE_ARTIFACTS_ROOT: join(folder, 'file') });
      const failed = await call('artifacts_put', { path: 'a', content: 'x' });
      expect(failed).to.deep.include({ error_code: 'ARTIFACT_WRITE_ERROR', retryable: true });
      expect(JSON.stringify(failed)).to.not.contain(folder);
      await host.stop();
      await symlink(join(folder, 'loop'), join(folder, 'loop'));
      await open({ MORTISE_ARTIFACTS_ROOT: join(folder, 'loop') });
      const unread = await call('artifacts_get', { path: 'a' });
      expect(unread).to.deep.include({ error_code: 'ARTIFACT_READ_ERROR', retryable: true });
    });

    it('items, events, attachments and values are created, audited and found', async () => {
      await open();
      await host.service('logbook').users.add('alice');
      const made = await call('logbook_create_item', {
        item_type: 'review',
        title: 'Look at it',
        owner_user_id: 'alice',
        scope_json: { a: 1 },
        project_key: 'p',
      });
      const { item_id } = made;
      expect(made).to.deep.include({ ok: true, item_type: 'review', title: 'Look at it', status: 'open' });
      expect(await lastAudit()).to.deep.include({ action: 'allow', targetSpace: `item:${String(item_id)}` });
      const event = await call('logbook_add_event', {
        item_id,
        event_type: 'closed',
        status_to: 'done',
        payload_json: { by: 'me' },
        actor_user_id: 'alice',
      });
      expect(event).to.deep.include({ ok: true, item_id, event_type: 'closed', status_to: 'done' });
      expect(await lastAudit()).to.deep.include({ actorUserId: 'alice' });
      const given = { item_id, kind: 'log', uri: 'https://example.org/log', sha256: sha('log'), size_bytes: 3 };
      const attached = await call('logbook_attach', given);
      expect(attached).to.deep.include({ ok: true, item_id, kind: 'log', uri: given.uri, sha256: given.sha256 });
      expect((await call('logbook_attach', given)).attachment_id).to.equal(attached.attachment_id);

      const items = await call('logbook_query_items', { status: 'done', item_type: 'review' });
      expect(items).to.deep.include({ ok: true, count: 1, next_cursor: null });
      expect((items.items as readonly Json[])[0]).to.deep.include({
        item_id,
        title: 'Look at it',
        status: 'done',
        owner_user_id: 'alice',
        scope_json: { a: 1 },
      });
      const events = await call('logbook_query_events', { item_id });
      expect((events.events as readonly Json[])[0]).to.deep.include({
        event_type: 'closed',
        payload_json: { by: 'me' },
        source: 'tool',
      });
      const attachments = await call('logbook_list_attachments', { item_id, kind: 'log' });
      expect((attachments.attachments as readonly Json[])[0]).to.deep.include({ size_bytes: 3, meta_json: {} });

      for (const value_json of [{ a: [1, null] }, 'text', 0, false, null]) {
        expect(await call('logbook_set_kv', { namespace: 'n', key: 'k', value_json })).to.deep.include({
          ok: true,
          key: 'k',
        });
        expect(await call('logbook_get_kv', { namespace: 'n', key: 'k' })).to.deep.include({ value_json, found: true });
      }
      expect(await call('logbook_get_kv', { namespace: 'n', key: 'none' })).to.deep.include({
        value_json: null,
        found: false,
      });
    });

    it('a page continues where the last one ended', async () => {
      await open();
      for (const title of ['a', 'b', 'c']) await call('logbook_create_item', { item_type: 't', title });
      const titles = ({ items }: Json) => (items as readonly Json[]).map(({ title }) => title);
      const first = await call('logbook_query_items', { limit: 2 });
      expect(titles(first)).to.deep.equal(['c', 'b']);
      const second = await call('logbook_query_items', { limit: 2, cursor: first.next_cursor });
      expect(titles(second)).to.deep.equal(['a']);
      for (const args of [{ cursor: 'x' }, { limit: 0 }, { limit: 1_001 }]) {
        expect((await call('logbook_query_items', args)).error?.code).to.equal(-32602);
      }
    });

    const addPatch = async (sourceId: string, content: string, meta: object) => {
      await database.statement(
        `insert into {scm.patch_blobs} (source_type, source_id, sha256, meta_json) values ('git', ?, ?, ?)`,
        [sourceId, sha(content), database.codec.json(meta)],
      );
    };

    it('patches are resolved by each of their names, and their file is written once', async () => {
      await open();
      await addPatch('abc/1', 'diff', { content: 'diff' });
      const evidence_uri = `memory://patch_blobs/git/abc/1/${sha('diff')}`;
      const resolved = await call('scm_patch_blob_resolve', { sha256: sha('diff').toUpperCase() });
      expect(resolved).to.deep.include({ ok: true, artifact_uri: null, sha256: sha('diff'), evidence_uri });
      const uri = `artifact://local/scm/patch_blobs/${sha('diff').slice(0, 2)}/${sha('diff')}.diff`;
      const made = await call('scm_materialize_patch_blob', { evidence_uri });
      expect(made).to.deep.include({ ok: true, status: 'materialized', uri, sha256: sha('diff'), size_bytes: 4 });
      const source = { source_type: 'git', source_id: 'abc/1', sha256: sha('diff') };
      expect((await call('scm_materialize_patch_blob', source)).status).to.equal('present');
      expect(await call('scm_patch_blob_resolve', { evidence_uri })).to.deep.include({
        artifact_uri: uri,
        size_bytes: 4,
      });
      expect(await call('evidence_read', { uri: evidence_uri })).to.deep.include({
        ok: true,
        resource_type: 'patch_blobs',
        resource_id: 'git/abc/1',
        content_text: 'diff',
      });
    });

    it('patches without content, or with other content, are refused', async () => {
      await open();
      await addPatch('empty', 'a', {});
      await addPatch('wrong', 'b', { content: 'not b' });
      const code = async (text: string) => (await call('scm_materialize_patch_blob', { sha256: sha(text) })).error_code;
      expect(await code('a')).to.equal('NOT_FOUND');
      expect(await code('b')).to.equal('CHECKSUM_MISMATCH');
      const uri = `memory://patch_blobs/git/empty/${sha('a')}`;
      expect((await call('evidence_read', { uri })).error_code).to.equal('NOT_FOUND');
    });

    it('allow a bound key to act only for its own actor, and refuse text that cannot be stored', async () => {
      const keys = [{ key: 'k-alice-0123456789', id: 'a', actor: 'alice' }];
      await open({ MORTISE_API_KEYS: JSON.stringify(keys) });
      const headers = { authorization: 'Bearer k-alice-0123456789' };
      const made = await call('logbook_create_item', { item_type: 't', title: 't' }, headers);
      const event = { item_id: made.item_id, event_type: 't', actor_user_id: 'bob' };
      const { error } = await call('logbook_add_event', event, headers);
      expect(error?.data).to.deep.include({ reason: 'ACTOR_MISMATCH' });
      expect(await lastAudit()).to.deep.include({ action: 'reject', reason: 'logbook-tools:ACTOR_MISMATCH' });
      for (const args of [
        { namespace: 'n', key: 'a\0', value_json: 1 },
        { namespace: 'n', key: 'a', value_json: ['\ud800'] },
      ]) {
        expect((await call('logbook_set_kv', args, headers)).error?.code).to.equal(-32602);
      }
    });
  });
});
