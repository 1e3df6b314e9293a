import { expect } from 'chai';
import { guardContent, isDiff, isLog } from '../policy/content-guard.js';

const hunk = '@@ -1,2 +1,3 @@\n-a\n+b\n';
const logLine = '2026-01-30T10:00:00Z INFO started\n';
const secret = `token=${'x9'.repeat(12)}`;
const off = { diff: 'off', log: 'off', secret: 'off' } as const;

describe('the content guard', () => {
  it('recognises a patch by three hunks, or by its header and one hunk', () => {
    expect(isDiff(hunk.repeat(3))).to.equal(true);
    expect(isDiff(hunk.repeat(2))).to.equal(false);
    expect(isDiff(`diff --git a/x b/x\n${hunk}`)).to.equal(true);
    expect(isDiff('diff --git a/x b/x\n')).to.equal(false);
  });

  it('recognises a log by twenty lines of which four fifths begin with a time or level', () => {
    expect(isLog(logLine.repeat(20))).to.equal(true);
    expect(isLog(logLine.repeat(19))).to.equal(false);
    expect(isLog(logLine.repeat(16) + 'text\n'.repeat(4))).to.equal(true);
    expect(isLog(logLine.repeat(15) + 'text\n'.repeat(5))).to.equal(false);
    expect(isLog('[ERROR] x\n'.repeat(20))).to.equal(true);
    expect(isLog('10:00:00 x\n'.repeat(20))).to.equal(true);
  });

  it('does only what the policy enables', () => {
    expect(guardContent(hunk.repeat(3) + logLine.repeat(30) + secret, off)).to.deep.equal({ kind: 'pass' });
    expect(guardContent(hunk.repeat(3), { ...off, diff: 'reject' })).to.include({ kind: 'reject', type: 'diff' });
    expect(guardContent(logLine.repeat(30), { ...off, log: 'reject' })).to.include({ kind: 'reject', type: 'log' });
    expect(guardContent(secret, { ...off, secret: 'reject' })).to.include({ kind: 'reject', type: 'secret' });
    expect(guardContent(`${secret} ${secret}`, { ...off, secret: 'warn' })).to.deep.equal({ kind: 'warn', secrets: 2 });
  });

  it('redacts secrets, and never repeats one', () => {
    const verdict = guardContent(`the ${secret} is new`, { ...off, secret: 'redact' });
    expect(verdict).to.deep.equal({ kind: 'redact', secrets: 1, content: 'the token=[REDACTED] is new' });
  });
});
