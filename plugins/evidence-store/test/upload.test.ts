import { createHash } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { MemoryPolicy, MemoryPolicyRequest } from 'mortise/contracts/memory-gateway';
import { eachDatabase, type TestEngine, type TestPlugin, temporaryFolder } from 'mortise/sdk/testing';
import { openSubject, type Subject } from './evidence-host.js';

const hello = createHash('sha256').update('hello').digest('hex');

async function filesBelow(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

describe('evidence_upload', () => {
  eachDatabase((engine: TestEngine) => {
    let subject: Subject;
    let root: string;

    const open = async (env: Readonly<Record<string, string>> = {}, extra: readonly TestPlugin[] = []) => {
      root = temporaryFolder('evidence');
      subject = await openSubject({ database: engine.env, env: { MORTISE_ARTIFACTS_ROOT: root, ...env }, extra });
    };
    afterEach(() => subject.host.stop());

    it('stores a text, and returns a reference for memories', async () => {
      await open();
      const { result, isError, correlationId } = await subject.upload({
        content: 'hello',
        content_type: 'text/plain; charset=utf-8',
        title: 'greeting.txt',
      });
      const id = result.attachment_id as number;
      const { timestamp } = result.evidence as { timestamp: string };
      expect(result).to.deep.equal({
        ok: true,
        item_id: result.item_id,
        attachment_id: id,
        sha256: hello,
        evidence: {
          uri: `memory://attachments/${id}/${hello}`,
          sha256: hello,
          source_type: 'artifact',
          source_id: String(id),
          timestamp,
          title: 'greeting.txt',
        },
        artifact_uri: `artifact://local/attachments/evidence/${hello.slice(0, 2)}/${hello}.txt`,
        size_bytes: 5,
        content_type: 'text/plain',
        deduplicated: false,
        correlation_id: correlationId,
      });
      expect(Object.keys(result).slice(0, 4)).to.deep.equal(['ok', 'item_id', 'attachment_id', 'sha256']);
      expect(isError).to.equal(false);
      expect(Date.parse(timestamp)).to.be.closeTo(Date.now(), 60_000);
      expect(await filesBelow(root)).to.deep.equal([`attachments/evidence/${hello.slice(0, 2)}/${hello}.txt`]);

      const item = await subject.host.service('logbook').items.get(result.item_id as number);
      expect(item).to.deep.include({
        itemType: 'evidence',
        title: 'greeting.txt',
        ownerUserId: null,
        scope: { source: 'gateway' },
      });
      expect(await subject.lastAudit()).to.deep.include({
        action: 'allow',
        operation: 'evidence_upload',
        reason: 'evidence_upload:stored',
        status: 'success',
        targetSpace: 'evidence:default',
        payloadSha: hello,
        correlationId,
      });

      const stored = await subject.host.post('/memory/store', {
        payload_md: 'It said hello.',
        target_space: 'private:alice',
        evidence: [result.evidence],
      });
      expect(await stored.json()).to.deep.include({ ok: true, evidence_refs: [`memory://attachments/${id}/${hello}`] });
    });

    const encodings: readonly [string, object][] = [
      ['a base64 parameter', { content: 'aGVsbG8=', content_type: 'text/plain;base64' }],
      ['a data URI', { content: 'data:text/plain;base64,aGVsbG8=', content_type: 'text/plain' }],
      [
        'a data URI with parameters',
        { content: 'data:text/html;charset=utf-8;base64,aGVsbG8', content_type: 'text/plain' },
      ],
      ['the unpublished argument', { content: 'aGVs\n bG8', content_type: 'text/plain', content_encoding: 'base64' }],
    ];
    it('decodes base64 however it is declared', async () => {
      await open();
      for (const [how, args] of encodings) {
        const { result } = await subject.upload(args);
        expect(result, how).to.deep.include({ ok: true, sha256: hello, content_type: 'text/plain', size_bytes: 5 });
        expect(result, how).not.to.have.property('warnings');
      }
      expect(await filesBelow(root)).to.have.length(1);
    });

    it('warns of arguments that it ignores, and refuses an unsupported encoding', async () => {
      await open();
      const hers = { content: 'hello', content_type: 'text/plain' };
      for (const content_encoding of ['utf-8', 'identity', null]) {
        const { result } = await subject.upload({ ...hers, content_encoding, colour: 'red' });
        expect(result).to.deep.include({ ok: true, sha256: hello, warnings: ['unknown argument: colour'] });
      }
      const missing = await subject.upload({ content: 'hello', colour: 'red' });
      expect(missing.result).to.deep.include({ ok: false, warnings: ['unknown argument: colour'] });
      const before = await subject.counts();
      for (const content_encoding of ['gzip', 'base32', 7]) {
        const { error } = await subject.upload({ ...hers, content_encoding });
        expect(error?.code).to.equal(-32602);
        expect(error?.data).to.deep.include({ reason: 'INVALID_PARAM_VALUE' });
        expect(error?.data).to.have.nested.property('details.path', '/content_encoding');
      }
      expect(await subject.counts()).to.deep.equal(before);
    });

    it('handles a secret in the title as the policy says, and repeats it nowhere', async () => {
      await open();
      const secret = 'x9'.repeat(12);
      const upload = async (mode: string) => {
        const policy = { content_guard: { secret: mode } };
        await subject.host.service('logbook').settings.update('default', { policy }, { updatedBy: 'test' });
        return subject.upload({ content: mode, content_type: 'text/plain', title: `log of token=${secret}` });
      };
      const itemOf = (result: Readonly<Record<string, unknown>>) =>
        subject.host.service('logbook').items.get(result.item_id as number);

      const warned = await upload('warn');
      expect(warned.result).to.deep.include({ ok: true, warnings: ['/title holds what looks like a secret'] });
      const redacted = await upload('redact');
      expect(redacted.result).to.deep.include({ ok: true, warnings: ['a secret was removed from /title'] });
      expect(await itemOf(redacted.result)).to.include({ title: 'log of token=[REDACTED]' });
      const off = await upload('off');
      expect(off.result).to.include({ ok: true }).and.not.have.property('warnings');
      const before = await subject.counts();
      const refused = await upload('reject');
      expect(refused.error).to.have.nested.property('data.reason', 'POLICY_REJECT');
      expect(JSON.stringify(refused)).to.contain('/title').and.not.contain(secret);
      const { audits, ...kept } = await subject.counts();
      expect({ ...kept, audits: audits - 1 }).to.deep.equal(before);
      const row = await subject.lastAudit();
      expect(row).to.include({ action: 'reject', reason: 'content_intercepted:secret' });
      expect(JSON.stringify(row) + subject.host.logs.join('')).not.to.contain(secret);
    });

    const refusals: readonly [string, object, object][] = [
      [
        'no content',
        { content_type: 'text/plain' },
        { error_code: 'MISSING_REQUIRED_PARAMETER', parameter: 'content' },
      ],
      [
        'an empty content',
        { content: '', content_type: 'text/plain' },
        { error_code: 'MISSING_REQUIRED_PARAMETER', parameter: 'content' },
      ],
      ['no content type', { content: 'a' }, { error_code: 'MISSING_REQUIRED_PARAMETER', parameter: 'content_type' }],
      [
        'an empty content type',
        { content: 'a', content_type: '' },
        { error_code: 'MISSING_REQUIRED_PARAMETER', parameter: 'content_type' },
      ],
      [
        'a type that is not allowed',
        { content: 'a', content_type: 'image/png' },
        { error_code: 'EVIDENCE_CONTENT_TYPE_NOT_ALLOWED', content_type: 'image/png' },
      ],
      [
        'what is no type',
        { content: 'a', content_type: 'text' },
        { error_code: 'EVIDENCE_CONTENT_TYPE_NOT_ALLOWED', content_type: 'text' },
      ],
      [
        'broken base64',
        { content: 'aGVsbG8*', content_type: 'text/plain;base64' },
        { error_code: 'EVIDENCE_CONTENT_INVALID' },
      ],
      [
        'one byte too many',
        { content: 'x'.repeat(1_048_577), content_type: 'text/plain' },
        { error_code: 'EVIDENCE_SIZE_LIMIT_EXCEEDED', size_bytes: 1_048_577, max_bytes: 1_048_576 },
      ],
      [
        'an item that is not there',
        { content: 'a', content_type: 'text/plain', item_id: 4711 },
        { error_code: 'EVIDENCE_ITEM_NOT_FOUND', item_id: 4711 },
      ],
      [
        'an item that cannot be',
        { content: 'a', content_type: 'text/plain', item_id: 1e300 },
        { error_code: 'EVIDENCE_ITEM_NOT_FOUND' },
      ],
    ];
    it('refuses invalid content with the reason, and writes nothing', async () => {
      await open();
      let audits = 0;
      for (const [what, args, expected] of refusals) {
        const { result, isError, correlationId } = await subject.upload(args);
        expect(result, what).to.deep.include({
          ok: false,
          retryable: false,
          correlation_id: correlationId,
          ...expected,
        });
        expect(result.message, what).to.be.a('string').and.not.contain('{');
        expect(result.suggestion, what).to.be.a('string');
        expect(isError, what).to.equal(true);
        if (/TYPE_NOT_ALLOWED/.test(String(result.error_code)) || result.parameter === 'content_type') {
          expect(result.allowed_types, what).to.include('text/plain').and.have.length(11);
        }
        audits += 1;
        expect(await subject.lastAudit(), what).to.deep.include({
          action: 'reject',
          operation: 'evidence_upload',
          reason: `evidence_upload:${String(result.error_code)}`,
          status: 'failed',
          correlationId,
        });
      }
      expect(await subject.counts()).to.deep.equal({ items: 0, attachments: 0, audits });
      expect(await filesBelow(root)).to.deep.equal([]);
      expect((await subject.lastAudit()).payloadSha, 'the hash is known by then').to.have.length(64);
    });

    it('accepts the largest allowed size in every encoding', async () => {
      await open({ EVIDENCE_MAX_SIZE_BYTES: '5' });
      const base64 = (text: string) => Buffer.from(text).toString('base64');
      const size = async (text: string) =>
        (await subject.upload({ content: base64(text), content_type: 'text/plain;base64' })).result.ok;
      expect(await size('12345')).to.equal(true);
      expect(await size('123456')).to.equal(false);
      const wide = await subject.upload({ content: 'ü12', content_type: 'text/plain' });
      expect(wide.result.size_bytes).to.equal(4);
    });

    it('reports a retryable error when the store fails, and writes nothing', async () => {
      const file = join(tmpdir(), `mortise-no-folder-${process.pid}`);
      await writeFile(file, '');
      await open({ MORTISE_ARTIFACTS_ROOT: file });
      try {
        const { result } = await subject.upload({ content: 'secret words', content_type: 'text/plain' });
        expect(result).to.deep.include({ ok: false, error_code: 'EVIDENCE_WRITE_ERROR', retryable: true });
        expect(await subject.counts()).to.deep.equal({ items: 0, attachments: 0, audits: 1 });
        const logs = subject.host.logs.join('\n');
        expect(logs).to.contain('could not be written').and.not.contain('secret words');
      } finally {
        await rm(file);
      }
    });

    it('returns the existing attachment for the same item and the same bytes', async () => {
      await open();
      const first = (await subject.upload({ content: 'hello', content_type: 'text/plain' })).result;
      const again = (await subject.upload({ content: 'hello', content_type: 'text/markdown', item_id: first.item_id }))
        .result;
      expect(again).to.deep.include({
        ok: true,
        deduplicated: true,
        attachment_id: first.attachment_id,
        artifact_uri: first.artifact_uri,
      });
      const other = (await subject.upload({ content: 'other', content_type: 'text/plain', item_id: first.item_id }))
        .result;
      expect(other).to.deep.include({ ok: true, deduplicated: false, item_id: first.item_id });
      expect(await subject.counts()).to.deep.equal({ items: 1, attachments: 2, audits: 3 });
    });

    it('creates one attachment for concurrent uploads of the same bytes', async () => {
      await open();
      const { item_id } = (await subject.upload({ content: 'first', content_type: 'text/plain' })).result;
      const all = await Promise.all(
        Array.from({ length: 8 }, () => subject.upload({ content: 'hello', content_type: 'text/plain', item_id })),
      );
      expect(new Set(all.map(({ result }) => result.attachment_id)).size).to.equal(1);
      expect(all.filter(({ result }) => result.deduplicated === false)).to.have.length(1);
    });

    it('keeps projects apart, and refuses invalid project names', async () => {
      await open();
      const { result } = await subject.upload({ content: 'hello', content_type: 'text/csv', project_key: 'Team-1.x' });
      expect(result.artifact_uri).to.equal(
        `artifact://local/attachments/evidence/Team-1.x/${hello.slice(0, 2)}/${hello}.csv`,
      );
      expect((await subject.lastAudit()).targetSpace).to.equal('evidence:Team-1.x');
      for (const project_key of ['', '..', 'a..b', '.a', 'a/b', 'a b', '-a', 'x'.repeat(65)]) {
        const { error } = await subject.upload({ content: 'hello', content_type: 'text/plain', project_key });
        expect(error?.code, project_key).to.equal(-32602);
        expect(error?.data, project_key).to.deep.include({ reason: 'INVALID_PARAM_VALUE' });
      }
      expect((await subject.counts()).items).to.equal(1);
    });

    const args = { content: 'hello', content_type: 'text/plain', actor_user_id: 'eve' };
    const owner = async (itemId: unknown) =>
      (await subject.host.service('logbook').items.get(Number(itemId)))?.ownerUserId;
    const meta = async (id: unknown) => (await subject.host.service('logbook').attachments.get(Number(id)))?.meta;

    it('accepts evidence of an unknown actor without an owner', async () => {
      await open();
      const { result } = await subject.upload(args);
      expect(await owner(result.item_id)).to.equal(null);
      expect(await meta(result.attachment_id)).to.deep.include({ actor_user_id: 'eve' });
      expect(await subject.host.service('logbook').users.list()).to.deep.equal([]);
    });

    it('makes a known actor the owner', async () => {
      await open();
      await subject.host.service('logbook').users.add('eve');
      expect(await owner((await subject.upload(args)).result.item_id)).to.equal('eve');
    });

    it('creates an unknown actor as a user, with an audit row, if configured', async () => {
      await open({ UNKNOWN_ACTOR_POLICY: 'auto_create' });
      expect(await owner((await subject.upload(args)).result.item_id)).to.equal('eve');
      const { rows } = await subject.host.service('audit').query({ operation: 'actor_autocreate' });
      expect(rows[0]).to.deep.include({ action: 'allow', reason: 'actor_autocreated', actorUserId: 'eve' });
      await subject.host.service('logbook').users.setActive('eve', false);
      expect(await owner((await subject.upload(args)).result.item_id)).to.equal(null);
    });

    it('refuses an unknown actor if configured', async () => {
      await open({ MORTISE_UNKNOWN_ACTOR_POLICY: 'reject' });
      const { error } = await subject.upload(args);
      expect(error?.code).to.equal(-32002);
      expect(error?.data).to.deep.include({ reason: 'ACTOR_UNKNOWN', retryable: false });
      expect(await subject.lastAudit()).to.deep.include({ action: 'reject', reason: 'actor_unknown:reject' });
      const legacy = await subject.host.post('/mcp', { tool: 'evidence_upload', arguments: args });
      expect(await legacy.json()).to.deep.include({ ok: false, reason: 'ACTOR_UNKNOWN', result: null });
      expect(await subject.counts()).to.deep.equal({ items: 0, attachments: 0, audits: 2 });
      expect(await filesBelow(root)).to.deep.equal([]);
    });

    it('allows a bound key to act only for its own actor', async () => {
      const keys = [{ key: 'k-alice-0123456789', id: 'a', actor: 'alice' }];
      await open({ MORTISE_API_KEYS: JSON.stringify(keys), MORTISE_UNKNOWN_ACTOR_POLICY: 'reject' });
      const headers = { authorization: 'Bearer k-alice-0123456789' };
      const { error } = await subject.upload(args, headers);
      expect(error?.data).to.deep.include({ reason: 'ACTOR_MISMATCH' });
      expect(await subject.lastAudit()).to.deep.include({ action: 'reject', reason: 'actor_mismatch' });
      const { result } = await subject.upload({ content: 'hello', content_type: 'text/plain' }, headers);
      expect(await owner(result.item_id)).to.equal('alice');
    });

    it('refuses wrong types as every tool does', async () => {
      await open();
      const { error } = await subject.upload({ content: 5, content_type: 'text/plain' });
      expect(error?.data).to.deep.include({ reason: 'INVALID_PARAM_TYPE' });
      expect(await subject.counts()).to.deep.include({ audits: 0 });
    });

    it('records nothing when the rows cannot be committed', async () => {
      await open();
      await subject.database.statement(
        engine.dialect === 'sqlite'
          ? `create trigger refuse_audit before insert on governance_write_audit when new.action = 'allow' begin select raise(abort, 'no'); end`
          : `alter table governance.write_audit add constraint refuse_audit check (action <> 'allow') not valid`,
      );
      try {
        const { error } = await subject.upload({ content: 'hello', content_type: 'text/plain' });
        expect(error).to.deep.include({ code: -32603 });
        expect(await subject.counts()).to.deep.equal({ items: 0, attachments: 0, audits: 1 });
        expect(await subject.lastAudit()).to.deep.include({ action: 'reject', reason: 'internal_error' });
      } finally {
        await subject.database.statement(
          engine.dialect === 'sqlite'
            ? 'drop trigger refuse_audit'
            : 'alter table governance.write_audit drop constraint refuse_audit',
        );
      }
      expect((await subject.upload({ content: 'hello', content_type: 'text/plain' })).result.ok).to.equal(true);
      const [file = '', ...others] = await filesBelow(root);
      expect(others).to.deep.equal([]);
      expect(await readFile(join(root, file), 'utf8')).to.equal('hello');
    });

    it('runs the checks of plugins, and stores nothing that one of them refuses', async () => {
      const seen: MemoryPolicyRequest[] = [];
      const check: MemoryPolicy = {
        order: 0,
        tools: ['evidence_upload'],
        run(request) {
          seen.push(request);
          if (request.content.includes('broken')) throw new Error('a bug');
          if (request.content.includes('moved'))
            return { kind: 'redirect', space: 'private:x', reason: 'moved', message: 'it belongs elsewhere' };
          if (request.content.includes('forbidden'))
            return { kind: 'reject', reason: 'words', message: 'the word is not welcome' };
          return { kind: 'pass' };
        },
      };
      const plugin: TestPlugin = {
        manifest: { key: 'own-words', contributes: { 'memory-policy': ['words'] } },
        definition: {
          key: 'own-words',
          register: (own) => void own.contribute('memory-policy', 'words', check),
        },
      };
      await open({}, [plugin]);
      const upload = (content: string) => subject.upload({ content, content_type: 'text/csv', title: 'A table' });
      for (const [content, reason] of [
        ['forbidden', 'own-words:words'],
        ['moved', 'own-words:moved'],
        ['broken', 'internal_error'],
      ] as const) {
        const { error } = await upload(content);
        expect(error?.code, content).to.equal(-32002);
        expect(error?.data, content).to.deep.include({
          reason: 'POLICY_REJECT',
          category: 'business',
          retryable: false,
        });
        expect(await subject.lastAudit()).to.deep.include({
          action: 'reject',
          reason,
          targetSpace: 'evidence:default',
        });
      }
      expect(await subject.counts()).to.deep.equal({ items: 0, attachments: 0, audits: 3 });
      expect(await filesBelow(root)).to.deep.equal([]);
      const { result } = await upload('welcome, ü');
      expect(result.ok).to.equal(true);
      expect(seen.at(-1)).to.deep.equal({
        tool: 'evidence_upload',
        actorUserId: null,
        requestedSpace: 'evidence:default',
        targetSpace: 'evidence:default',
        kind: null,
        content: 'welcome, ü',
        meta: { content_type: 'text/csv', title: 'A table' },
        evidence: [],
      });
    });

    it('is one of the five tools, in their order', async () => {
      await open();
      const response = await subject.host.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
      const { result } = (await response.json()) as {
        result: { tools: readonly { name: string; inputSchema: object }[] };
      };
      expect(result.tools.map(({ name }) => name)).to.deep.equal([
        'memory_store',
        'memory_query',
        'reliability_report',
        'governance_update',
        'evidence_upload',
      ]);
      const published = result.tools[4]?.inputSchema as { properties: object; required?: unknown };
      expect(Object.keys(published.properties)).to.deep.equal([
        'content',
        'content_type',
        'title',
        'actor_user_id',
        'project_key',
        'item_id',
      ]);
      expect(published.required).to.equal(undefined);
    });
  });
});
