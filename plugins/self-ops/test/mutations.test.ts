import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { createTestHost, databaseProbe, eachDatabase, type TestHost } from 'mortise/sdk/testing';

interface Preview {
  readonly mutation_id: string;
  readonly expires_at: string;
  readonly confirm_hash: string;
  readonly checks: Readonly<Record<string, unknown>>;
  readonly diff_summary: readonly Readonly<Record<string, unknown>>[];
  readonly unified_diff: string;
  readonly requires_sensitive_allow: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

const rewrite = (path: string, search: string, replace: string) => ({
  target: 'workspace_file',
  operations: [{ kind: 'text_rewrite', path, search, replace }],
});
const create = (path: string, value: string) => ({
  target: 'workspace_file',
  operations: [{ kind: 'replace', path, value }],
});
const patchProviders = (...patch: object[]) => ({
  target: 'provider_config',
  operations: [{ kind: 'json_patch', patch }],
});
const allowing = (body: object) => ({ ...body, allow_sensitive: true });

const secret = 'sk-secret-0123456789';

describe('a change of the configuration', () => {
  eachDatabase(
    (engine) => {
      const probe = databaseProbe(['agent']);
      let host: TestHost;

      before(async () => {
        host = await createTestHost({
          plugins: ['self-ops', 'provider-demo', 'provider-openai'],
          extra: [probe.plugin],
          database: engine.env,
        });
      });
      after(() => host.stop());

      beforeEach(async () => {
        await rm(join(host.dataDir, 'prompts'), { recursive: true, force: true });
        await mkdir(join(host.dataDir, 'prompts'));
        await writeFile(join(host.dataDir, 'prompts', 'AGENTS.md'), 'Be brief.\nBe kind.\n');
        await host.fetch('/models/acme', { method: 'DELETE' });
      });

      const text = (path: string) => readFile(join(host.dataDir, path), 'utf8').catch(() => undefined);
      const preview = async (body: object) =>
        (await (await host.post('/agent/self/config-mutations/preview', body)).json()) as Preview;
      const apply = async (body: object) => {
        const response = await host.post('/agent/self/config-mutations/apply', body);
        return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
      };
      const confirm = ({ mutation_id, confirm_hash }: Preview, more: object = {}) =>
        apply({ mutation_id, confirm_hash, ...more });
      const refusal = ({ status, body }: Awaited<ReturnType<typeof apply>>) => {
        const { code, message } = body.error as { code: string; message: string };
        return [status, code, message];
      };
      const configure = (id: string, settings: object) =>
        host.fetch(`/models/${id}/config`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(settings),
        });

      it('of a text is shown as a unified diff, made once, and audited (A51)', async () => {
        const shown = await preview(rewrite('prompts/AGENTS.md', 'brief', 'short'));
        expect(shown.unified_diff).to.equal(
          '--- a/prompts/AGENTS.md\n+++ b/prompts/AGENTS.md\n@@ -1,2 +1,2 @@\n-Be brief.\n+Be short.\n Be kind.\n',
        );
        expect(shown.checks).to.deep.equal({
          path_whitelist_passed: true,
          structure_valid: true,
          risk_level: 'medium',
        });
        expect(shown.mutation_id).to.match(/^mutation-\d{19}$/);
        expect(Date.parse(shown.expires_at) - Date.now()).to.be.within(290_000, 301_000);
        expect(await text('prompts/AGENTS.md')).to.equal('Be brief.\nBe kind.\n');
        const applied = await confirm(shown);
        expect(applied.body)
          .to.include({ applied: true })
          .and.to.deep.include({ applied_targets: ['prompts/AGENTS.md'] });
        expect(await text('prompts/AGENTS.md')).to.equal('Be short.\nBe kind.\n');
        expect(refusal(await confirm(shown))).to.deep.equal([
          409,
          'mutation_apply_conflict',
          'mutation is already applied',
        ]);
        const { rows } = await host.service('audit').query({ reasonPrefix: 'self-ops:' });
        const own = rows.filter(({ targetSpace }) => targetSpace === `mutation:${shown.mutation_id}`);
        expect(own.map(({ operation, reason }) => `${operation} ${reason}`).sort()).to.deep.equal([
          'self-ops:apply self-ops:done',
          'self-ops:apply self-ops:mutation_apply_conflict',
          'self-ops:preview self-ops:done',
        ]);
        expect(own.map(({ auditId }) => auditId)).to.include(applied.body.audit_id);
        expect(JSON.stringify(own)).to.not.contain('Be short');
      });

      it('creates files below the folders of prompts, several at once', async () => {
        const shown = await preview({
          target: 'workspace_file',
          operations: [
            { kind: 'replace', path: 'prompts/new/a.md', value: 'A\n' },
            { kind: 'replace', path: 'docs%2FAI/b.md', value: 'B' },
            { kind: 'text_rewrite', path: './prompts/new/a.md', search: 'A', replace: '$& and $1' },
          ],
        });
        expect(shown.unified_diff).to.contain('@@ -0,0 +1,1 @@\n+$& and $1\n');
        expect((await confirm(shown)).body).to.deep.include({ applied_targets: ['prompts/new/a.md', 'docs/AI/b.md'] });
        expect([await text('prompts/new/a.md'), await text('docs/AI/b.md')]).to.deep.equal(['$& and $1\n', 'B']);
      });

      it('of a provider is sensitive when a secret changes, and only then (A52)', async () => {
        await configure('acme', { api_key: secret, base_url: 'https://acme.example/v1' });
        const plain = await preview(patchProviders({ op: 'add', path: '/acme/timeout_ms', value: 5_000 }));
        expect(plain.requires_sensitive_allow).to.equal(false);
        expect(plain.unified_diff).to.contain('"api_key": "***"').and.to.contain('+    "timeout_ms": 5000');
        expect((await confirm(plain)).status).to.equal(200);
        const change = patchProviders({ op: 'replace', path: '/acme/api_key', value: 'sk-other-0123456789' });
        const shown = await preview(change);
        expect(shown.checks).to.deep.include({ sensitive_fields: ['/acme/api_key'], risk_level: 'high' });
        expect(shown.requires_sensitive_allow).to.equal(true);
        expect(shown.unified_diff)
          .to.contain('-    "api_key": "***"')
          .and.to.contain('+    "api_key": "*** (changed)"');
        expect(JSON.stringify(shown)).to.not.contain('sk-');
        expect(refusal(await confirm(shown)).slice(0, 2)).to.deep.equal([403, 'mutation_sensitive_denied']);
        expect(refusal(await confirm(shown, { allow_sensitive: true }))[2]).to.equal(
          'allow_sensitive must match preview request',
        );
        const allowed = await preview(allowing(change));
        expect((await confirm(allowed, { allow_sensitive: true })).status).to.equal(200);
        const providers = (await (await host.fetch('/models')).json()) as { id: string; current_api_key: string }[];
        expect(providers.find(({ id }) => id === 'acme')?.current_api_key).to.equal('sk-***789');
      });

      it('of a provider is sensitive when its stored key would be sent to another server', async () => {
        await configure('acme', { api_key: secret, base_url: 'https://acme.example/v1' });
        const change = patchProviders({ op: 'replace', path: '/acme/base_url', value: 'https://evil.example/v1' });
        const shown = await preview(change);
        expect(shown.checks).to.deep.include({ sensitive_fields: ['/acme/base_url'], risk_level: 'high' });
        expect(shown.unified_diff).to.contain('+    "base_url": "https://evil.example/v1"');
        expect(refusal(await confirm(shown)).slice(0, 2)).to.deep.equal([403, 'mutation_sensitive_denied']);
        const allowed = await preview(allowing(change));
        expect((await confirm(allowed, { allow_sensitive: true })).status).to.equal(200);
        const samePlace = { op: 'replace', path: '/acme/base_url', value: 'https://evil.example/v2' };
        expect(await preview(patchProviders(samePlace))).to.include({ requires_sensitive_allow: false });
      });

      it('keeps secrets in the database sealed or gone', async () => {
        await configure('acme', { api_key: secret });
        const shown = await preview(patchProviders({ op: 'add', path: '/acme/timeout_ms', value: 1 }));
        await confirm(shown);
        const rows: { payload_enc: string | null; state: string }[] = await probe.database
          .query()(probe.database.table('agent.mutations'))
          .where({ id: shown.mutation_id })
          .select('payload_enc', 'state');
        expect(rows).to.deep.equal([{ payload_enc: null, state: 'applied' }]);
      });

      it('of a path outside of the folders is shown, and never made (A53)', async () => {
        await mkdir(join(host.dataDir, 'elsewhere'), { recursive: true });
        await symlink(join(host.dataDir, 'elsewhere'), join(host.dataDir, 'prompts', 'link'));
        for (const path of [
          '../etc/passwd',
          'prompts/../config/gate.json',
          '/etc/passwd',
          'prompts\\x.md',
          'prompts/%2e%2e/x',
          'prompts/',
          'config/gate.json',
          'plugins.json',
          'prompts/link/x.md',
          'prompts/%zz',
        ]) {
          const shown = await preview(create(path, 'x'));
          expect(shown.checks, path).to.deep.include({
            path_whitelist_passed: false,
            denied_paths: [path],
            risk_level: 'high',
          });
          expect(shown.unified_diff, path).to.equal('');
          expect(refusal(await confirm(shown)).slice(0, 2), path).to.deep.equal([403, 'mutation_path_denied']);
        }
      });

      it('is refused when it has expired, is unknown or was confirmed with another hash (A54)', async () => {
        const shown = await preview(rewrite('prompts/AGENTS.md', 'brief', 'short'));
        expect(refusal(await apply({ mutation_id: 'mutation-1', confirm_hash: 'x' })).slice(0, 2)).to.deep.equal([
          404,
          'mutation_not_found',
        ]);
        expect(refusal(await apply({ mutation_id: shown.mutation_id, confirm_hash: '0'.repeat(64) }))[1]).to.equal(
          'mutation_hash_mismatch',
        );
        expect(refusal(await apply({ mutation_id: shown.mutation_id }))).to.deep.equal([
          400,
          'invalid_request',
          'mutation_id and confirm_hash are required',
        ]);
        await probe.database
          .query()(probe.database.table('agent.mutations'))
          .where({ id: shown.mutation_id })
          .update({ expires_at: Date.now() - 1 });
        expect(refusal(await confirm(shown)).slice(0, 2)).to.deep.equal([410, 'mutation_expired']);
      });

      it('conflicts with a change that was made meanwhile, and can be repeated when that is undone', async () => {
        const shown = await preview(rewrite('prompts/AGENTS.md', 'brief', 'short'));
        await writeFile(join(host.dataDir, 'prompts', 'AGENTS.md'), 'Other.\n');
        expect(refusal(await confirm(shown))).to.deep.equal([
          409,
          'mutation_apply_conflict',
          'workspace_file changed after preview',
        ]);
        expect(await text('prompts/AGENTS.md')).to.equal('Other.\n');
        await writeFile(join(host.dataDir, 'prompts', 'AGENTS.md'), 'Be brief.\nBe kind.\n');
        expect((await confirm(shown)).status).to.equal(200);
      });

      it('is made once by many callers at the same time', async () => {
        const shown = await preview(rewrite('prompts/AGENTS.md', 'brief', 'short'));
        const answers = await Promise.all(Array.from({ length: 6 }, () => confirm(shown)));
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409, 409, 409]);
      });

      it('writes all documents or none', async () => {
        await configure('acme', { base_url: 'https://acme.example/v1' });
        const shown = await preview({
          target: 'workspace_file',
          operations: [
            {
              kind: 'json_patch',
              path: 'config/models.json',
              patch: [{ op: 'add', path: '/acme/timeout_ms', value: 7 }],
            },
            { kind: 'replace', path: 'prompts/AGENTS.md', value: 'New.\n' },
            { kind: 'replace', path: 'prompts/blocked/x.md', value: 'x' },
          ],
        });
        // A file takes the place of the folder that the last document needs.
        await writeFile(join(host.dataDir, 'prompts', 'blocked'), '');
        expect((await confirm(shown)).status).to.be.at.least(400);
        expect(await text('prompts/AGENTS.md')).to.equal('Be brief.\nBe kind.\n');
        const providers = (await (await host.fetch('/models')).json()) as { id: string; timeout_ms?: number }[];
        expect(providers.find(({ id }) => id === 'acme')).to.not.have.property('timeout_ms');
        await rm(join(host.dataDir, 'prompts', 'blocked'));
        expect((await confirm(shown)).body).to.deep.include({
          applied_targets: ['config/models.json', 'prompts/AGENTS.md', 'prompts/blocked/x.md'],
        });
      });

      it('of the model settings clears the active model with its provider', async () => {
        await configure('acme', { base_url: 'https://acme.example/v1' });
        const activate = await preview({
          target: 'active_llm',
          operations: [{ kind: 'replace', path: '', value: { provider_id: 'acme', model: 'big' } }],
        });
        expect((await confirm(activate)).body).to.deep.include({ applied_targets: ['config/active-llm.json'] });
        const shown = await preview(patchProviders({ op: 'remove', path: '/acme' }));
        expect(shown.diff_summary.map(({ path }) => path)).to.deep.equal([
          'config/models.json',
          'config/active-llm.json',
        ]);
        expect((await confirm(shown)).status).to.equal(200);
        expect(await (await host.fetch('/models/active')).json()).to.deep.equal({
          active_llm: { provider_id: '', model: '' },
        });
      });

      it('that would break a document is shown with the reason, and never made', async () => {
        for (const body of [
          patchProviders({ op: 'add', path: '/acme/timeout_ms', value: -1 }),
          patchProviders({ op: 'add', path: '/acme', value: 'text' }),
          { target: 'active_llm', operations: [{ kind: 'replace', path: '/provider_id', value: 'none' }] },
          { target: 'workspace_file', operations: [{ kind: 'replace', path: 'config/models.json', value: [] }] },
          create('prompts/AGENTS.md', ' \n'),
        ]) {
          const shown = await preview(body);
          expect(shown.checks, JSON.stringify(body)).to.include({ structure_valid: false });
          expect(refusal(await confirm(shown)).slice(0, 2)).to.deep.equal([400, 'invalid_request']);
        }
      });

      it('that would make a text no prompt is shown with the reason, and never made', async () => {
        for (const [value, problem] of [
          ['a\0b', 'NUL character'],
          ['a\ud800', 'half of a surrogate pair'],
          ['ä'.repeat(600_000), 'larger than 1 MiB'],
        ] as const) {
          const shown = await preview(create('prompts/AGENTS.md', value));
          expect(shown.checks.structure_error, problem).to.contain(problem);
          expect(refusal(await confirm(shown)).slice(0, 2)).to.deep.equal([400, 'invalid_request']);
        }
        expect(await text('prompts/AGENTS.md')).to.equal('Be brief.\nBe kind.\n');
      });

      it('that would grow a text without bounds is refused before it is made', async () => {
        const { operations } = rewrite('prompts/AGENTS.md', 'e', 'e'.repeat(1_000));
        const grown = await preview({ target: 'workspace_file', operations: Array(100).fill(operations[0]) });
        expect(grown.error).to.include({ code: 'invalid_request', message: 'the text would be larger than 1 MiB' });
        const pointer = await preview(patchProviders({ op: 'add', path: '/a'.repeat(200_000), value: 1 }));
        expect(pointer.error?.message).to.contain('more than 100 parts');
        const large = Array.from({ length: 9 }, (_, index) => [
          { kind: 'replace', path: `prompts/large-${index}.md`, value: 'x'.repeat(5_000) },
          { kind: 'text_rewrite', path: `prompts/large-${index}.md`, search: 'x', replace: `${'line '.repeat(40)}\n` },
        ]);
        const many = await preview({ target: 'workspace_file', operations: large.flat() });
        expect(many.error?.message).to.contain('larger than 8 MiB together');
        const shown = await preview({ target: 'workspace_file', operations: large.slice(0, 4).flat() });
        expect(shown.checks.structure_valid).to.equal(true);
      });

      it('of a path with half of a surrogate pair is one that may not be changed', async () => {
        const shown = await preview(create('prompts/\ud800x', 'Text.'));
        expect(shown.checks.path_whitelist_passed).to.equal(false);
      });

      it('names the place and the reason of a value that would break a document', async () => {
        const wrong = (path: string, value: unknown) => patchProviders({ op: 'add', path, value });
        for (const [body, reason] of [
          [wrong('/acme', { adapter: 5 }), 'provider "acme": adapter must be a string'],
          [wrong('/acme', { timeout_ms: -1 }), 'provider "acme": timeout_ms must be >= 0'],
          [wrong('/acme', { headers: { a: 1 } }), 'provider "acme": headers.a must be a string'],
          [wrong('/acme', 'text'), 'provider "acme": it must be an object'],
          [
            wrong('/acme', { models: [{ id: 'm', limit: { context: 'x' } }] }),
            'provider "acme": models[0].limit.context must be a number',
          ],
          [
            { target: 'active_llm', operations: [{ kind: 'replace', path: '', value: { provider_id: 5 } }] },
            'the active model: provider_id must be a string',
          ],
        ] as const) {
          expect((await preview(body)).checks.structure_error).to.equal(reason);
        }
      });

      it('of a file in another encoding is refused', async () => {
        await writeFile(join(host.dataDir, 'prompts', 'gbk.md'), Buffer.from('d6d0cec40a6c696e650a', 'hex'));
        expect((await preview(rewrite('prompts/gbk.md', 'line', 'row'))).error).to.include({
          code: 'invalid_request',
          message: 'target file is not UTF-8 text: convert it to UTF-8 first',
        });
      });

      it('names what is wrong with a request', async () => {
        const message = async (body: object) => (await preview(body)).error?.message;
        const on = (target: string, operation: object) => ({ target, operations: [operation] });
        const table: readonly (readonly [object, string])[] = [
          [{}, 'target is required'],
          [{ target: 'x' }, 'unsupported mutation target'],
          [{ target: 'active_llm' }, 'operations are required'],
          [on('active_llm', { kind: 'x' }), 'operation.kind must be one of replace|json_patch|text_rewrite'],
          [
            on('workspace_file', { kind: 'json_patch', path: 'prompts/AGENTS.md', patch: [{}] }),
            'json_patch is not supported for text workspace files',
          ],
          [
            on('workspace_file', { kind: 'text_rewrite', path: 'config/models.json', search: 'a' }),
            'text_rewrite is only supported for text workspace files',
          ],
          [
            on('provider_config', { kind: 'text_rewrite', search: 'a' }),
            'text_rewrite is not supported for provider_config target',
          ],
          [rewrite('prompts/none.md', 'a', 'b'), 'workspace file not found'],
          [on('active_llm', { kind: 'replace', path: '/none', value: 1 }), 'operation: there is nothing at its path'],
        ];
        for (const [body, expected] of table) expect(await message(body)).to.equal(expected);
        expect((await preview([])).error?.code).to.equal('invalid_json');
      });

      it('does not reveal a stored secret through a failed test', async () => {
        await configure('acme', { api_key: secret });
        const { error } = await preview(patchProviders({ op: 'test', path: '/acme/api_key', value: 'guess' }));
        expect(error).to.include({ code: 'invalid_request', message: 'patch[0] does not match' });
        expect(JSON.stringify(error)).to.not.contain('sk-');
      });
    },
    { keepRows: true },
  );

  it('survives a restart', async () => {
    const first = await createTestHost({ plugins: ['self-ops', 'provider-demo'] });
    const response = await first.post('/agent/self/config-mutations/preview', create('prompts/later.md', 'later'));
    const { mutation_id, confirm_hash } = (await response.json()) as Preview;
    await first.app.stop(Date.now() + 2_000);
    const { dataDir } = first;
    const second = await createTestHost({ plugins: ['self-ops', 'provider-demo'], dataDir });
    const applied = await second.post('/agent/self/config-mutations/apply', { mutation_id, confirm_hash });
    expect(applied.status).to.equal(200);
    expect(await readFile(join(dataDir, 'prompts', 'later.md'), 'utf8')).to.equal('later');
    await second.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('is not for keys that are bound to a user', async () => {
    const keys = JSON.stringify([{ key: 'key-of-anna-0123', id: 'anna', actor: 'anna' }]);
    const host = await createTestHost({ plugins: ['self-ops', 'provider-demo'], env: { MORTISE_API_KEYS: keys } });
    const headers = { 'x-api-key': 'key-of-anna-0123' };
    for (const step of ['preview', 'apply']) {
      const response = await host.post(`/agent/self/config-mutations/${step}`, create('prompts/a.md', 'x'), headers);
      expect(response.status, step).to.equal(403);
    }
    const other = { user_id: 'bert', provider_id: 'demo', model: 'demo-chat', first_input: 'hi' };
    expect((await host.post('/agent/self/sessions/bootstrap', other, headers)).status).to.equal(403);
    const model = {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(other),
    };
    expect((await host.fetch('/agent/self/sessions/s/model', model)).status).to.equal(403);
    await host.stop();
  });
});
