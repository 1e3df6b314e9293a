import { expect } from 'chai';
import { type Answer, answerOf, type Json } from 'mortise/contracts/memory-gateway/testing';
import type { Database } from 'mortise/sdk';
import { eachDatabase, type TestEngine, type TestHostOptions } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const KEY = 'adm-key-0123456789';

/** The tables of a database as SQL names them, of all plugins. */
async function everyTable(database: Database): Promise<readonly string[]> {
  const { rows } = await database.statement<{ name: string }>(
    database.dialect === 'sqlite'
      ? `select name from pragma_table_list where schema = 'main' and type in ('table', 'virtual')`
      : `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  return rows.map(({ name }) => name);
}

/** A value of a column as text, bytes included. */
const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : JSON.stringify(value);

describe('governance_update', () => {
  eachDatabase((engine: TestEngine) => {
    let gateway: GatewayHost;

    const open = async (env: Readonly<Record<string, string>> = {}, options: TestHostOptions = {}) => {
      gateway = await startGateway(engine, {
        plugins: ['mcp-server', 'memory-gateway'],
        env: { GOVERNANCE_ADMIN_KEY: KEY, ...env },
        ...options,
      });
    };
    afterEach(() => gateway.stop());

    const update = async (body: object, headers?: Readonly<Record<string, string>>): Promise<Answer> =>
      answerOf(await gateway.host.post('/governance/settings/update', body, headers));
    const call = async (args: object): Promise<Json> => {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'governance_update', arguments: args },
      };
      return (await (await gateway.host.post('/mcp', body)).json()) as Json;
    };
    const effective = ({ body }: Answer) => (body.settings as Json).effective_policy as Json;
    const auditsNow = async () =>
      (await gateway.host.service('audit').query({ operation: 'governance_update' })).rows.map(
        ({ action, reason, targetSpace, payloadSha, status }) => ({ action, reason, targetSpace, payloadSha, status }),
      );

    it('refuses a missing credential and a wrong key, and accepts the right key', async () => {
      await open();
      const none = await update({ team_write_enabled: true });
      expect(none.status).to.equal(200);
      expect(none.body).to.deep.equal({
        ok: false,
        action: 'reject',
        settings: null,
        message: 'Rejected: neither admin_key nor actor_user_id was given (governance_update:missing_credentials).',
        correlation_id: none.headers.get('x-correlation-id'),
        reason: 'governance_update:missing_credentials',
      });
      const wrong = await update({ team_write_enabled: true, admin_key: 'wrong-key-value' });
      expect(wrong.body).to.deep.include({ ok: false, reason: 'governance_update:invalid_admin_key' });
      const right = await update({ team_write_enabled: true, admin_key: KEY });
      expect(right.body).to.deep.include({ ok: true, action: 'allow', message: null });
      expect(Object.keys(right.body)).to.deep.equal([
        'ok',
        'action',
        'settings',
        'message',
        'correlation_id',
        'reason',
      ]);
      const { updated_at, effective_policy, ...settings } = right.body.settings as Json;
      expect(settings).to.deep.equal({
        team_write_enabled: true,
        policy_json: {},
        project_key: 'default',
        updated_by: 'admin',
        version: 2,
      });
      expect(effective_policy).to.deep.include({ max_chars: 1_200, require_evidence: true });
      expect(Date.parse(String(updated_at))).to.be.closeTo(Date.now(), 60_000);

      const common = { targetSpace: 'governance:default', payloadSha: null };
      expect(await auditsNow()).to.deep.equal([
        { ...common, action: 'allow', reason: 'governance_update:admin_key', status: 'success' },
        { ...common, action: 'reject', reason: 'governance_update:invalid_admin_key', status: 'failed' },
        { ...common, action: 'reject', reason: 'governance_update:missing_credentials', status: 'failed' },
      ]);
      const { rows } = await gateway.host.service('audit').query({});
      const settingsRows = await gateway.database.statement('select * from {governance.settings}');
      const kept = JSON.stringify([rows, settingsRows.rows, gateway.host.logs]);
      expect(kept).to.not.contain(KEY).and.not.contain('wrong-key-value');
      expect(rows[0]?.evidence).to.deep.include({ changes: { team_write_enabled: true, policy_keys: [] } });
    });

    it('stores no key in any table, whatever the outcome', async () => {
      await open();
      for (const admin_key of [KEY, 'wrong-key-value']) {
        await update({ team_write_enabled: true, admin_key });
        await call({ admin_key, policy_json: { note: 'x' } });
        await update({ admin_key, policy_json: { max_chars: 'many' } });
      }
      const tables = await everyTable(gateway.database);
      expect(tables).to.include.members([engine.dialect === 'sqlite' ? 'governance_settings' : 'governance.settings']);
      for (const table of tables) {
        const { rows } = await gateway.database.statement<Json>(`select * from ${table}`);
        const text = rows.flatMap((row) => Object.values(row).map(textOf)).join('\n');
        expect(text, table).to.not.contain(KEY).and.not.contain('wrong-key-value');
      }
    });

    it('refuses every key if the server has none', async () => {
      await open({ GOVERNANCE_ADMIN_KEY: '' });
      const { body } = await update({ admin_key: 'any', team_write_enabled: true });
      expect(body.reason).to.equal('governance_update:admin_key_not_configured');
      expect(body.message).to.contain('GOVERNANCE_ADMIN_KEY');
    });

    it('returns the same over MCP, as a result and not as an error', async () => {
      await open();
      const refused = await call({ team_write_enabled: true });
      const result = refused.result as { isError: boolean; structuredContent?: unknown; content: { text: string }[] };
      expect(result.isError).to.equal(true);
      expect(JSON.parse(result.content[0]?.text ?? '')).to.deep.include({
        ok: false,
        action: 'reject',
        reason: 'governance_update:missing_credentials',
      });
      const wrong = await call({ admin_key: KEY, policy_json: { max_chars: 'many' } });
      const { data, code } = wrong.error as { code: number; data: { reason: string; details: Json } };
      expect(code).to.equal(-32602);
      expect(data.reason).to.equal('INVALID_PARAM_TYPE');
      expect(data.details).to.deep.include({ path: '/policy_json/max_chars' });
    });

    it('merges the policy key by key, and null removes a key', async () => {
      await open();
      const first = await update({ admin_key: KEY, policy_json: { max_chars: 500, dedup: 'off' } });
      expect(effective(first)).to.deep.include({ max_chars: 500, dedup: 'off' });
      const second = await update({ admin_key: KEY, policy_json: { max_chars: null } });
      expect(effective(second)).to.deep.include({ max_chars: 1_200, dedup: 'off' });
      expect((second.body.settings as Json).policy_json).to.deep.equal({ dedup: 'off' });
      expect((second.body.settings as Json).version).to.equal(3);
    });

    it('returns the settings unchanged for an empty update, and audits that too', async () => {
      await open();
      const before = await update({ admin_key: KEY, policy_json: { max_chars: 500 } });
      const { body } = await update({ admin_key: KEY });
      expect(body).to.deep.include({ ok: true, settings: before.body.settings });
      expect(await auditsNow()).to.have.length(2);
    });

    it('applies to the next store', async () => {
      await open();
      const store = async () =>
        (await gateway.store({ payload_md: `text ${Math.random()}`, target_space: 'team:a', kind: 'PITFALL' })).body
          .reason;
      expect(await store()).to.equal('policy:team_write_disabled');
      await update({ admin_key: KEY, team_write_enabled: true });
      expect(await store()).to.equal('policy:missing_evidence');
      await update({ admin_key: KEY, policy_json: { require_evidence: false } });
      expect(await store()).to.equal('policy:policy_passed');
      await update({ admin_key: KEY, team_write_enabled: false });
      expect(await store()).to.equal('policy:team_write_disabled');
    });

    it('refuses evidence without a hash in strict mode, and stores nothing', async () => {
      await open();
      await update({ admin_key: KEY, policy_json: { evidence_mode: 'strict' } });
      const { body } = await gateway.store({
        payload_md: 'proven',
        target_space: 'private:a',
        evidence: [{ uri: 'https://example.org/log' }],
      });
      const reason = 'EVIDENCE_VALIDATION_FAILED:EVIDENCE_MISSING_SHA256';
      expect(body).to.deep.include({ ok: false, action: 'reject', reason });
      expect(await gateway.count('governance.write_audit', `reason = '${reason}'`)).to.equal(1);
      expect(await gateway.count('logbook.memories')).to.equal(0);
    });

    const wrong: readonly [string, unknown, string][] = [
      ['allowlist_users', 'alice', 'INVALID_PARAM_TYPE'],
      ['allowlist_users', ['alice', 1], 'INVALID_PARAM_TYPE'],
      ['allowed_kinds', {}, 'INVALID_PARAM_TYPE'],
      ['require_evidence', 'yes', 'INVALID_PARAM_TYPE'],
      ['evidence_mode', 1, 'INVALID_PARAM_TYPE'],
      ['max_chars', 1.5, 'INVALID_PARAM_TYPE'],
      ['max_chars', -1, 'INVALID_PARAM_VALUE'],
      ['bulk_mode', 'some', 'INVALID_PARAM_VALUE'],
      ['bulk_mode', false, 'INVALID_PARAM_TYPE'],
      ['bulk_max_chars', '200', 'INVALID_PARAM_TYPE'],
      ['dedup', 'fuzzy', 'INVALID_PARAM_VALUE'],
      ['content_guard', [], 'INVALID_PARAM_TYPE'],
      ['content_guard', { secret: 'hide' }, 'INVALID_PARAM_VALUE'],
      ['content_guard', { diff: 'warn' }, 'INVALID_PARAM_VALUE'],
    ];
    it('validates known keys after the credential, and changes nothing if one is invalid', async () => {
      await open();
      for (const [key, value, reason] of wrong) {
        const policy_json = { max_chars: 7, [key]: value };
        const stranger = await update({ policy_json });
        expect(stranger.body.reason, key).to.equal('governance_update:missing_credentials');
        const { status, body } = await update({ admin_key: KEY, team_write_enabled: true, policy_json });
        expect(status, key).to.equal(422);
        expect(body, key).to.deep.include({ ok: false, reason });
        expect(body.detail, key).to.have.nested.property('0.loc').deep.equal(['body', 'policy_json', key]);
      }
      const { body } = await update({ admin_key: KEY });
      expect(body.settings).to.deep.include({ team_write_enabled: false, policy_json: {}, version: 1 });
    });

    it('stores unknown keys, with a warning', async () => {
      await open();
      const { body } = await update({ admin_key: KEY, policy_json: { max_words: 5, max_chars: 9 }, colour: 'red' });
      expect(body.warnings).to.deep.equal(['unknown policy key: max_words', 'unknown member: colour']);
      expect((body.settings as Json).policy_json).to.deep.equal({ max_words: 5, max_chars: 9 });
      const odd = await update({ admin_key: KEY, policy_json: { note: 'a\0b' } });
      expect(odd.status).to.equal(422);
      const huge = await update({ admin_key: KEY, policy_json: { note: 'x'.repeat(70_000) } });
      expect(huge.status).to.equal(422);
    });

    it('accepts strings for booleans over REST, and refuses them over MCP', async () => {
      await open();
      const { body } = await update({ admin_key: KEY, team_write_enabled: 'true' });
      expect(body.settings).to.deep.include({ team_write_enabled: true });
      const { error } = await call({ admin_key: KEY, team_write_enabled: 'true' });
      expect(error).to.have.nested.property('data.reason', 'INVALID_PARAM_TYPE');
    });

    it('accepts an actor on the stored allowlist, even with a wrong key, and no other', async () => {
      await open();
      const alice = { actor_user_id: 'alice', team_write_enabled: true };
      expect((await update(alice)).body.reason).to.equal('governance_update:user_not_in_allowlist');
      await update({ admin_key: KEY, policy_json: { allowlist_users: ['alice'] } });
      const { body } = await update(alice);
      expect(body).to.deep.include({ ok: true, reason: 'governance_update:allowlist_user' });
      expect(body.settings).to.deep.include({ updated_by: 'alice' });
      expect((await update({ ...alice, admin_key: 'wrong' })).body.reason).to.equal('governance_update:allowlist_user');
      expect((await update({ ...alice, actor_user_id: 'bob' })).body.reason).to.equal(
        'governance_update:user_not_in_allowlist',
      );
      expect((await update({ ...alice, actor_user_id: ' alice' })).status).to.equal(422);
      expect(await gateway.host.service('logbook').users.list()).to.deep.equal([]);
    });

    it('does not accept a claimed name that comes through a proxy', async () => {
      await open();
      await update({ admin_key: KEY, policy_json: { allowlist_users: ['alice'] } });
      const { body } = await update({ actor_user_id: 'alice' }, { 'x-forwarded-for': '203.0.113.9' });
      expect(body.reason).to.equal('governance_update:user_not_in_allowlist');
    });

    it('accepts only a bound key if other machines can reach the server', async () => {
      const keys = [
        { key: 'k-alice-0123456789', id: 'a', actor: 'alice' },
        { key: 'k-plain-0123456789', id: 'p' },
      ];
      await open({ MORTISE_HOST: '0.0.0.0', MORTISE_API_KEYS: JSON.stringify(keys) });
      const bound = { authorization: 'Bearer k-alice-0123456789' };
      const plain = { authorization: 'Bearer k-plain-0123456789' };
      await update({ admin_key: KEY, policy_json: { allowlist_users: ['alice', 'bob'] } }, plain);
      expect((await update({ actor_user_id: 'alice' }, plain)).body.reason).to.equal(
        'governance_update:user_not_in_allowlist',
      );
      expect((await update({ actor_user_id: 'alice' }, bound)).body.reason).to.equal(
        'governance_update:allowlist_user',
      );
      expect((await update({ team_write_enabled: true }, bound)).body.reason).to.equal(
        'governance_update:allowlist_user',
      );
      const other = await update({ actor_user_id: 'bob' }, bound);
      expect(other.status).to.equal(200);
      expect(other.body).to.deep.include({ ok: false, action: 'reject', reason: 'actor_mismatch' });
      expect((await update({ admin_key: KEY })).status, 'no server key').to.equal(401);
    });

    it('loses no concurrent change', async () => {
      await open();
      const keys = Array.from({ length: 12 }, (_, index) => `key_${index}`);
      await Promise.all(keys.map((key) => update({ admin_key: KEY, policy_json: { [key]: 1 } })));
      const { body } = await update({ admin_key: KEY });
      expect(Object.keys((body.settings as Json).policy_json as Json).sort()).to.deep.equal([...keys].sort());
      expect((body.settings as Json).version).to.equal(13);
    });

    it('returns its own error shape when no audit row can be written', async () => {
      await open();
      const [refuse, allow] =
        engine.dialect === 'sqlite'
          ? [
              `create trigger refuse_all before insert on governance_write_audit begin select raise(abort, 'no'); end`,
              'drop trigger refuse_all',
            ]
          : [
              'alter table governance.write_audit add constraint refuse_all check (audit_id < 0) not valid',
              'alter table governance.write_audit drop constraint refuse_all',
            ];
      await gateway.database.statement(refuse);
      try {
        for (const admin_key of [KEY, 'wrong']) {
          const { status, body } = await update({ admin_key, team_write_enabled: true });
          expect([status, body.action, body.settings, body.reason]).to.deep.equal([
            503,
            'error',
            null,
            'LOGBOOK_DB_CHECK_FAILED',
          ]);
        }
      } finally {
        await gateway.database.statement(allow);
      }
      const { body } = await update({ admin_key: KEY });
      expect(body.settings).to.deep.include({ team_write_enabled: false, version: 1 });
    });

    it('changes nothing when its audit row cannot be written, and reports that', async () => {
      await open();
      const refuse =
        engine.dialect === 'sqlite'
          ? [
              `create trigger refuse_audit before insert on governance_write_audit when new.reason = 'governance_update:admin_key' begin select raise(abort, 'no'); end`,
              'drop trigger refuse_audit',
            ]
          : [
              `alter table governance.write_audit add constraint refuse_audit check (reason <> 'governance_update:admin_key') not valid`,
              'alter table governance.write_audit drop constraint refuse_audit',
            ];
      await gateway.database.statement(refuse[0] ?? '');
      try {
        const { body } = await update({ admin_key: KEY, team_write_enabled: true });
        expect(body).to.deep.include({ ok: false, action: 'reject', reason: 'governance_update:internal_error' });
        expect((await auditsNow())[0]).to.deep.include({
          action: 'reject',
          reason: 'governance_update:internal_error',
        });
      } finally {
        await gateway.database.statement(refuse[1] ?? '');
      }
      const { body } = await update({ admin_key: KEY });
      expect(body.settings).to.deep.include({ team_write_enabled: false, version: 1 });
    });
  });
});
