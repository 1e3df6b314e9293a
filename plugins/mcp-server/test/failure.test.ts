import { expect } from 'chai';
import { failureOf } from '../failure-of.js';
import { errorObject, type Reason, RpcFailure, reasons } from '../wire/failure.js';
import type { Mode } from '../wire/protocol.js';
import { MortiseError, silentLog } from './support.js';

type Row = [Reason, code: number, category: string, retryable: boolean, session: number, stateless: number, number];

describe('the error table', () => {
  const rows: readonly Row[] = [
    ['PARSE_ERROR', -32700, 'protocol', false, 400, 400, -32700],
    ['INVALID_REQUEST', -32600, 'protocol', false, 400, 400, -32600],
    ['SESSION_NOT_FOUND', -32600, 'protocol', false, 404, 404, -32600],
    ['METHOD_NOT_FOUND', -32601, 'protocol', false, 200, 404, -32601],
    ['MISSING_REQUIRED_PARAM', -32602, 'validation', false, 200, 200, -32602],
    ['INVALID_PARAM_TYPE', -32602, 'validation', false, 200, 200, -32602],
    ['INVALID_PARAM_VALUE', -32602, 'validation', false, 200, 200, -32602],
    ['UNKNOWN_TOOL', -32602, 'validation', false, 200, 200, -32602],
    ['INTERNAL_ERROR', -32603, 'internal', false, 200, 200, -32603],
    ['UNHANDLED_EXCEPTION', -32603, 'internal', false, 200, 200, -32603],
    ['TOOL_EXECUTOR_NOT_REGISTERED', -32603, 'internal', false, 200, 200, -32603],
    ['TOOL_TIMEOUT', -32000, 'internal', false, 200, 200, -31000],
    ['TOOL_EXECUTION_FAILED', -32000, 'internal', false, 200, 200, -31000],
    ['OPENMEMORY_UNAVAILABLE', -32001, 'dependency', true, 200, 200, -31001],
    ['OPENMEMORY_CONNECTION_FAILED', -32001, 'dependency', true, 200, 200, -31001],
    ['OPENMEMORY_API_ERROR', -32001, 'dependency', true, 200, 200, -31001],
    ['LOGBOOK_DB_UNAVAILABLE', -32001, 'dependency', true, 200, 200, -31001],
    ['LOGBOOK_DB_CHECK_FAILED', -32001, 'dependency', false, 200, 200, -31001],
    ['RATE_LIMITED', -32001, 'dependency', true, 429, 429, -31001],
    ['POLICY_REJECT', -32002, 'business', false, 200, 200, -31002],
    ['AUTH_FAILED', -32002, 'business', false, 200, 200, -31002],
    ['ACTOR_UNKNOWN', -32002, 'business', false, 200, 200, -31002],
    ['ACTOR_MISMATCH', -32002, 'business', false, 200, 200, -31002],
    ['SPACE_FORBIDDEN', -32002, 'business', false, 200, 200, -31002],
    ['GOVERNANCE_UPDATE_DENIED', -32002, 'business', false, 200, 200, -31002],
    ['HEADER_MISMATCH', -32020, 'protocol', false, 200, 400, -32020],
    ['MISSING_CLIENT_CAPABILITY', -32021, 'protocol', false, 200, 400, -32021],
    ['UNSUPPORTED_PROTOCOL_VERSION', -32022, 'protocol', false, 200, 400, -32022],
  ];
  const data = (reason: Reason, mode: Mode) => errorObject(new RpcFailure(reason, 'No.'), mode, 'corr-1');
  for (const [reason, code, category, retryable, session, stateless, statelessCode] of rows) {
    it(`uses ${code} for ${reason}`, () => {
      expect(data(reason, 'session')).to.deep.equal({
        code,
        message: 'No.',
        data: { category, reason, retryable, correlation_id: 'corr-1', details: {} },
      });
      expect(data(reason, 'stateless')).to.have.property('code', statelessCode);
      expect(new RpcFailure(reason, '').status('session')).to.equal(session);
      expect(new RpcFailure(reason, '').status('stateless')).to.equal(stateless);
    });
  }

  it('has a row in this test for every reason', () => {
    expect(rows.map(([reason]) => reason)).to.have.members(Object.keys(reasons));
  });

  it('adds the name of a code that the stateless revision replaces', () => {
    expect(data('TOOL_TIMEOUT', 'stateless')).to.have.nested.property('data.code_name', 'TOOL_EXECUTION_ERROR');
    expect(data('RATE_LIMITED', 'stateless')).to.have.nested.property('data.code_name', 'DEPENDENCY_UNAVAILABLE');
    expect(data('POLICY_REJECT', 'stateless')).to.have.nested.property('data.code_name', 'BUSINESS_REJECTION');
    expect(data('INVALID_REQUEST', 'stateless')).not.to.have.nested.property('data.code_name');
  });

  it('redacts secrets in the message and the details', () => {
    const failure = new RpcFailure('UNKNOWN_TOOL', 'No "postgres://app:hunter2secret@db/x".', {
      details: { tool: 'Bearer abcdefghijklmnop', nested: [{ dsn: 'postgres://a:hunter2secret@b' }] },
    });
    const text = JSON.stringify(errorObject(failure, 'session', 'corr-1'));
    expect(text).to.contain('[REDACTED]');
    expect(text).not.to.contain('hunter2secret');
    expect(text).not.to.contain('abcdefghijklmnop');
  });
});

describe('errors thrown by a tool', () => {
  const failureFor = (error: unknown) => failureOf(error, silentLog, 'corr-1');

  it('keeps the reason, the details without their category, and whether a backend error is retryable', () => {
    const failure = failureFor(
      new MortiseError('OPENMEMORY_API_ERROR', 'It said 400.', {
        retryable: false,
        details: { category: 'dependency', service: 'openmemory', status: 400 },
      }),
    );
    expect(failure.reason).to.equal('OPENMEMORY_API_ERROR');
    expect(failure.retryable).to.equal(false);
    expect(failure.options.details).to.deep.equal({ service: 'openmemory', status: 400 });
  });

  it('treats any other code as a failure that the tool declared', () => {
    const failure = failureFor({ code: 'quota_used_up', message: 'No more today.', details: { left: 0 } });
    expect(failure.reason).to.equal('TOOL_EXECUTION_FAILED');
    expect(failure.message).to.equal('No more today.');
    expect(failure.options.details).to.deep.equal({ code: 'quota_used_up', left: 0 });
  });

  it('does not let a tool use reasons of the protocol', () => {
    expect(failureFor(new MortiseError('SESSION_NOT_FOUND', 'x')).reason).to.equal('TOOL_EXECUTION_FAILED');
  });

  it('logs an unexpected error and hides it from the client', () => {
    const failure = failureFor(new TypeError('secret table users'));
    expect(failure.reason).to.equal('UNHANDLED_EXCEPTION');
    expect(failure.message).to.equal('Internal error (corr-1)');
  });
});
