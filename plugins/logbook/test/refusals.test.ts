import { expect } from 'chai';
import type { AuditService } from 'mortise/contracts/logbook';
import type { AuditEntry, Refusal } from 'mortise/sdk';
import { silentLog } from 'mortise/sdk/testing';
import { createRefusalAudit, createRefusalTally } from '../audit/refusals.js';

const refusal: Refusal = { reason: 'auth_failed', subject: 'loopback', target: '/mcp', correlationId: 'corr-1' };

describe('refusals of the host', () => {
  it('are one row for each subject, reason, target and second', () => {
    let now = 5_000;
    const tally = createRefusalTally(() => now);
    for (let n = 0; n < 100; n += 1) tally.add({ ...refusal, correlationId: `corr-${n}` });
    tally.add({ ...refusal, subject: 'public' });
    tally.add({ ...refusal, target: '/chats' });
    expect(tally.take()).to.deep.equal([]);
    now = 6_000;
    tally.add(refusal);
    const rows = tally.take();
    expect(rows.map(({ reason, principal, evidence }) => [reason, principal, evidence?.count])).to.deep.equal([
      ['auth_failed:/mcp', 'loopback', 100],
      ['auth_failed:/mcp', 'public', 1],
      ['auth_failed:/chats', 'loopback', 1],
    ]);
    expect(rows[0]).to.deep.include({ action: 'reject', operation: 'gate', correlationId: 'corr-0' });
    expect(tally.take(true)).to.have.length(1);
    expect(tally.take(true)).to.deep.equal([]);
  });

  it('take a bounded room, however many subjects there are', () => {
    const tally = createRefusalTally(() => 0);
    for (let n = 0; n < 10_000; n += 1) tally.add({ ...refusal, subject: `key-${n}` });
    const rows = tally.take(true);
    expect(rows.length).to.be.at.most(2_001);
    expect(rows.reduce((sum, { evidence }) => sum + Number(evidence?.count), 0)).to.equal(10_000);
  });

  it('are kept while they cannot be written', async () => {
    const written: AuditEntry[] = [];
    let isDown = true;
    const writeMany: AuditService['writeMany'] = async (entries) => {
      if (isDown) throw new Error('down');
      written.push(...entries);
      return entries.map((_, index) => String(index));
    };
    const audit = { writeMany } as AuditService;
    const refusals = createRefusalAudit(audit, silentLog, () => 0);
    refusals.add(refusal);
    await refusals.flush(true);
    isDown = false;
    await refusals.flush();
    expect(written).to.have.length(1);
    await refusals.flush(true);
    expect(written).to.have.length(1);
  });
});
