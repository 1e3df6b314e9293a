import { expect } from 'chai';
import type { AuditRow } from 'mortise/contracts/logbook';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { decided } from './audit-reasons/decided.js';
import { delivered } from './audit-reasons/delivered.js';
import { failed } from './audit-reasons/failed.js';
import { governed } from './audit-reasons/governed.js';
import type { ReasonRow } from './audit-reasons/reason-row.js';
import { refused } from './audit-reasons/refused.js';
import { uploaded } from './audit-reasons/uploaded.js';
import { type RemoteMemory, startRemoteMemory } from './remote-memory.js';

/** All reasons. */
const groups = [...decided, ...failed, ...delivered, ...refused, ...governed, ...uploaded];

const isNamed = (reason: string, named: string | RegExp): boolean =>
  typeof named === 'string' ? reason === named : named.test(reason);

describe('the reasons in the audit trail', () => {
  eachDatabase(
    (engine) => {
      for (const { platform, options, policy, isTampered, rows } of groups) {
        describe(`of a platform ${platform}`, () => {
          let memory: RemoteMemory;
          before(async () => {
            memory = await startRemoteMemory(engine, options);
            const patch = { teamWriteEnabled: false, policy: policy ?? { evidence_mode: null, content_guard: null } };
            await memory.host.service('logbook').settings.update('default', patch, { updatedBy: 'test' });
          });
          after(async () => {
            await memory.stop();
            await engine.empty();
          });

          const found = async ({ reason, operation, source }: ReasonRow): Promise<readonly AuditRow[]> => {
            const { rows: written } = await memory.host.service('audit').query({ operation, limit: 1_000 });
            return written.filter((row) => row.evidence.source === source && isNamed(row.reason, reason));
          };

          for (const row of rows.filter(({ only = engine.dialect }) => only === engine.dialect)) {
            const { reason, action, operation, source } = row;
            it(`include ${String(reason)} (${action}, ${operation} by ${source})`, async () => {
              const before = (await found(row)).length;
              await row.provoke(memory);
              await until(async () => (await found(row)).length > before);
              for (const audit of await found(row)) {
                expect(audit).to.deep.include({ action, operation });
                expect(audit.correlationId).to.match(/^corr-[0-9a-f]{16}$/);
                expect(audit.evidence).to.deep.include({ source });
                expect(audit.evidence.gateway_event).to.deep.include({
                  schema_version: '2.0',
                  source,
                  operation,
                  correlation_id: audit.correlationId,
                  actor_user_id: audit.actorUserId,
                  payload_sha: audit.payloadSha,
                });
                expect(audit.evidence.gateway_event)
                  .to.have.property('decision')
                  .that.includes({ action, reason: audit.reason });
              }
            });
          }

          it('include no others, and all invariants hold', async () => {
            const { rows: written } = await memory.database.statement<{ reason: string }>(
              'select distinct reason from {governance.write_audit}',
            );
            const listed = groups.flatMap((one) => one.rows.map(({ reason }) => reason));
            const unlisted = written.filter(({ reason }) => !listed.some((one) => isNamed(reason, one)));
            expect(unlisted).to.deep.equal([]);
            const borrowed = written.filter(
              ({ reason }) =>
                /^openmemory/i.test(reason) && !/^OPENMEMORY_(WRITE_FAILED|CONTENT_(MISSING|ALTERED)):/.test(reason),
            );
            expect(borrowed).to.deep.equal([]);
            const { body } = await memory.get('/reliability/report');
            if (body.ok === true) expect(body.message).to.equal(null);
            if (isTampered !== true) expect(await memory.host.service('audit').verify()).to.deep.include({ ok: true });
          });
        });
      }
    },
    { keepRows: true },
  );
});
