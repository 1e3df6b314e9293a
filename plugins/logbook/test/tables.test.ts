import { expect } from 'chai';
import type { Database } from 'mortise/sdk';
import { eachDatabase } from 'mortise/sdk/testing';
import { migrations } from '../migrations/index.js';

const schemas = ['identity', 'logbook', 'scm', 'analysis', 'governance'];

/** What others read with SQL of their own: a column that is gone breaks them. */
const tables: Readonly<Record<string, string>> = {
  'identity.users': 'user_id display_name is_active roles_json created_at updated_at',
  'logbook.items': 'item_id item_type title project_key scope_json status owner_user_id created_at updated_at',
  'logbook.events': 'event_id item_id event_type status_from status_to payload_json actor_user_id source created_at',
  'logbook.attachments': 'attachment_id item_id kind uri sha256 size_bytes meta_json created_at',
  'logbook.kv': 'namespace key value_json updated_at',
  'logbook.outbox_memory':
    'outbox_id item_id target_space payload_md payload_sha status retry_count next_attempt_at locked_at locked_by ' +
    'last_error created_at updated_at meta_json kind evidence_json actor_user_id requested_space correlation_id ' +
    'memory_key meta_sha unavailable_count last_error_class verify_first memory_id sent_at dead_at',
  'logbook.memories':
    'seq memory_key space payload_md payload_sha payload_len meta_sha kind meta_json evidence_json actor_user_id ' +
    'item_id backend backend_memory_id state audit_id outbox_id correlation_id created_at updated_at',
  'analysis.runs':
    'run_id source_type source_id owner_user_id pipeline_version status cost_json error started_at ended_at',
  'analysis.knowledge_candidates':
    'candidate_id run_id kind title content_md confidence evidence_refs_json promote_suggested target_space created_at',
  'governance.settings': 'project_key team_write_enabled policy_json version updated_by updated_at',
  'governance.write_audit':
    'audit_id created_at ts actor_user_id target_space action reason payload_sha evidence_refs_json correlation_id ' +
    'status updated_at operation memory_key principal writer_id',
  'governance.audit_chain': 'writer_id seq audit_id phase row_sha chain_sha created_at hash_version',
  'governance.audit_heads': 'writer_id seq chain_sha updated_at',
  'scm.patch_blobs':
    'blob_id source_type source_id uri evidence_uri sha256 size_bytes format meta_json created_at updated_at',
};

/** Values that a row has which was given only what it must be given. */
const defaults: readonly [table: string, given: Readonly<Record<string, string>>, defaults: object][] = [
  ['identity.users', { user_id: 'u' }, { is_active: true, roles_json: {} }],
  ['logbook.items', { item_type: 't', title: 't' }, { scope_json: {}, status: 'open', owner_user_id: null }],
  [
    'logbook.outbox_memory',
    { target_space: 's', payload_md: 'p', payload_sha: 'x' },
    { status: 'pending', retry_count: 0, unavailable_count: 0, verify_first: false, meta_json: {}, evidence_json: [] },
  ],
  ['analysis.runs', { source_type: 'x' }, { status: 'running' }],
  [
    'analysis.knowledge_candidates',
    { kind: 'x' },
    { confidence: 'mid', evidence_refs_json: {}, promote_suggested: false, target_space: null },
  ],
  ['governance.settings', { project_key: 'p' }, { team_write_enabled: false, policy_json: {}, version: 1 }],
  ['governance.write_audit', { action: 'allow' }, { evidence_refs_json: {}, status: 'success' }],
  ['scm.patch_blobs', { source_type: 'x' }, { format: 'diff', meta_json: {} }],
];

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

describe('the tables', () => {
  eachDatabase((engine) => {
    let database: Database;
    beforeEach(async () => {
      database = await engine.open('logbook', schemas);
      await database.migrate(migrations);
    });

    for (const [table, columns] of Object.entries(tables)) {
      it(`${table} has its columns`, async () => {
        const [schema = '', name = ''] = table.split('.');
        const { rows } = await database.statement<{ name: string }>(
          engine.dialect === 'sqlite'
            ? `select name from pragma_table_info('${schema}_${name}')`
            : `select column_name as name from information_schema.columns
               where table_schema = '${schema}' and table_name = '${name}'`,
        );
        expect(rows.map((row) => row.name)).to.include.members(columns.split(' '));
      });
    }

    for (const [table, given, expected] of defaults) {
      it(`${table} fills in what is not given`, async () => {
        const names = Object.keys(given);
        const { rows } = await database.statement<Record<string, unknown>>(
          `insert into {${table}} (${names.join(', ')}) values (${names.map(() => '?').join(', ')}) returning *`,
          Object.values(given),
        );
        const row = rows[0] ?? {};
        for (const [name, value] of Object.entries(expected)) {
          const stored =
            typeof value === 'boolean'
              ? database.codec.parseFlag(row[name])
              : typeof value === 'object' && value !== null
                ? database.codec.parseJson(row[name])
                : row[name];
          expect(stored, name).to.deep.equal(value);
        }
        for (const name of ['created_at', 'updated_at', 'ts', 'started_at', 'next_attempt_at']) {
          if (row[name] !== undefined) expect(row[name], name).to.match(TIME);
        }
      });
    }
  });
});
