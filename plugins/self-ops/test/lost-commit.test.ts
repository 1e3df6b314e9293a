import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { CallContext, Database } from 'mortise/sdk';
import {
  createTestHost,
  databaseProbe,
  eachDatabase,
  localPrincipal,
  silentLog,
  type TestHost,
} from 'mortise/sdk/testing';
import { selfOpsAudit } from '../audit.js';
import { applyMutation } from '../mutations/apply-mutation.js';
import { Documents } from '../mutations/documents.js';
import { MutationStore } from '../mutations/mutation-store.js';
import { type MutationDeps, previewMutation } from '../mutations/preview-mutation.js';

const ctx: CallContext = {
  signal: new AbortController().signal,
  log: silentLog,
  principal: localPrincipal,
  requestId: 'req-0000000000000000',
  correlationId: 'corr-0000000000000000',
  trace: { traceId: '0'.repeat(32), spanId: '0'.repeat(16), sampled: false },
};

describe('a change whose commit fails', () => {
  eachDatabase((engine) => {
    let host: TestHost;
    afterEach(() => host.stop());

    it('leaves every document as it was, and can be made again', async () => {
      const probe = databaseProbe(['agent']);
      host = await createTestHost({
        plugins: ['self-ops', 'provider-demo'],
        extra: [probe.plugin],
        database: engine.env,
      });
      const { database } = probe;
      let fails = true;
      const transaction: Database['transaction'] = (run, options) =>
        database.transaction(async (trx) => {
          const result = await run(trx);
          if (fails) throw new Error('the connection was lost');
          return result;
        }, options);
      const clear = { seal: (text: string) => text, unseal: (text: string) => text };
      const deps: MutationDeps = {
        database: { transaction },
        store: new MutationStore(database, clear),
        documents: new Documents(host.service('workspace-files'), host.service('model-settings')),
        schedule: { now: () => Date.now() },
        audit: selfOpsAudit(host.service('audit')),
        checkRight: () => undefined,
      };
      await mkdir(join(host.dataDir, 'prompts'));
      await writeFile(join(host.dataDir, 'prompts', 'old.md'), 'Old.\n');
      const text = (name: string) => readFile(join(host.dataDir, 'prompts', name), 'utf8').catch(() => undefined);
      const operations = ['old.md', 'new.md'].map((name) => ({
        kind: 'replace',
        path: `prompts/${name}`,
        value: 'New.\n',
      }));
      fails = false;
      const { mutation_id, confirm_hash } = await previewMutation(deps, { target: 'workspace_file', operations }, ctx);
      fails = true;
      const failure = await applyMutation(deps, { mutation_id, confirm_hash }, ctx).catch((error: unknown) => error);
      expect(failure).to.include({ code: 'store_error' });
      expect([await text('old.md'), await text('new.md')]).to.deep.equal(['Old.\n', undefined]);
      fails = false;
      expect(await applyMutation(deps, { mutation_id, confirm_hash }, ctx)).to.include({ applied: true });
      expect([await text('old.md'), await text('new.md')]).to.deep.equal(['New.\n', 'New.\n']);
    });
  });
});
