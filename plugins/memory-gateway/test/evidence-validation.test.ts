import { expect } from 'chai';
import { eachDatabase } from 'mortise/sdk/testing';
import { type GatewayHost, startGateway } from './gateway-host.js';

const sha = 'd'.repeat(64);

describe('the validation of evidence', () => {
  eachDatabase(
    (engine) => {
      let gateway: GatewayHost;
      before(async () => {
        gateway = await startGateway(engine, { env: { MORTISE_VALIDATE_EVIDENCE_REFS: 'true' } });
      });
      after(() => gateway.stop());

      it('refuses invalid evidence in strict mode, even in private spaces, and stores nothing', async () => {
        await gateway.govern(false, { evidence_mode: 'Strict' });
        const answer = await gateway.store({
          payload_md: 'No hash',
          target_space: 'private:strict',
          evidence: [{ uri: 'https://a' }, { sha256: sha }],
        });
        expect(answer.body).to.deep.include({
          ok: false,
          action: 'reject',
          reason: 'EVIDENCE_VALIDATION_FAILED:EVIDENCE_MISSING_SHA256',
        });
        const [row] = await gateway.audits(answer);
        expect(row?.reason).to.equal('EVIDENCE_VALIDATION_FAILED:EVIDENCE_MISSING_SHA256');
        expect(row?.evidence)
          .to.have.nested.property('gateway_event.validation')
          .that.deep.equals({
            effective: true,
            reason: 'strict_enforced',
            findings: ['EVIDENCE_MISSING_SHA256:evidence[0]:https://a', 'EVIDENCE_MISSING_URI:evidence[1]'],
          });
        expect(await gateway.count('logbook.memories', `space = 'private:strict'`)).to.equal(0);
      });

      it('accepts plain references in strict mode, with a warning', async () => {
        await gateway.govern(false, { evidence_mode: 'strict' });
        const { body } = await gateway.store({
          payload_md: 'Plain',
          target_space: 'private:strict',
          evidence_refs: ['https://a'],
        });
        expect(body).to.deep.include({ ok: true, warnings: ['EVIDENCE_LEGACY_NO_SHA256:evidence[0]:https://a'] });
      });

      it('only warns in compat mode', async () => {
        await gateway.govern(false);
        const { body } = await gateway.store({
          payload_md: 'Compat',
          target_space: 'private:compat',
          evidence: [{ uri: `memory://attachments/99/${sha}`, sha256: sha }],
        });
        expect(body).to.deep.include({ ok: true, warnings: ['EVIDENCE_NOT_FOUND:evidence[0]'] });
      });

      it('looks up attachments and compares their hashes', async () => {
        await gateway.govern(false, { evidence_mode: 'strict' });
        const item = await gateway.database.statement<{ item_id: number }>(
          `insert into {logbook.items} (item_type, title) values ('evidence', 't') returning item_id`,
        );
        const made = await gateway.database.statement<{ attachment_id: number }>(
          `insert into {logbook.attachments} (item_id, kind, uri, sha256) values (?, 'k', 'u', ?) returning attachment_id`,
          [item.rows[0]?.item_id ?? 0, sha],
        );
        const id = made.rows[0]?.attachment_id;
        const store = async (uri: string, sha256: string) =>
          (
            await gateway.store({
              payload_md: `Look ${uri}`,
              target_space: 'private:look',
              evidence: [{ uri, sha256 }],
            })
          ).body;
        expect(await store(`memory://attachments/${id}/${sha}`, sha)).to.deep.include({ ok: true, action: 'allow' });
        const other = 'e'.repeat(64);
        expect(await store(`memory://attachments/${id}/${other}`, other)).to.deep.include({
          reason: 'EVIDENCE_VALIDATION_FAILED:EVIDENCE_SHA256_MISMATCH',
        });
        expect(await store(`memory://attachments/99999999999999999999/${sha}`, sha)).to.deep.include({
          reason: 'EVIDENCE_VALIDATION_FAILED:EVIDENCE_NOT_FOUND',
        });
      });
    },
    { keepRows: true },
  );
});
