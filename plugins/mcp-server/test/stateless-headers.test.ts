import { expect } from 'chai';
import { RpcFailure } from '../wire/failure.js';
import type { RpcRequest } from '../wire/message.js';
import { metaNames } from '../wire/protocol.js';
import { checkParameterHeaders, checkStatelessRequest, parameterHeaders } from '../wire/stateless-headers.js';

const version = '2026-07-28';
const meta = { [metaNames.protocolVersion]: version, [metaNames.clientCapabilities]: {} };
const headers = { 'mcp-protocol-version': version, 'mcp-method': 'tools/list' };

function request(change: Partial<RpcRequest> = {}): RpcRequest {
  return { kind: 'request', id: 1, idText: '1', method: 'tools/list', params: { _meta: meta }, ...change };
}

function refusal(run: () => void): string {
  try {
    run();
  } catch (error) {
    if (error instanceof RpcFailure) return `${error.reason} ${error.status('stateless')}`;
    throw error;
  }
  return 'served';
}

const callHeaders = (name: string) => ({ ...headers, 'mcp-method': 'tools/call', 'mcp-name': name });
const call = (name: unknown) => request({ method: 'tools/call', params: { _meta: meta, name } });

describe('checking a stateless request', () => {
  const rows: readonly [what: string, RpcRequest, Readonly<Record<string, string>>, expected: string][] = [
    ['a complete request', request(), headers, 'served'],
    ['a text id', request({ id: 'a' }), headers, 'served'],
    ['no id', request({ id: undefined }), headers, 'INVALID_REQUEST 400'],
    ['id null', request({ id: null }), headers, 'INVALID_REQUEST 400'],
    ['a fraction as id', request({ id: 1.5 }), headers, 'INVALID_REQUEST 400'],
    ['an object as id', request({ id: {} }), headers, 'INVALID_REQUEST 400'],
    ['no version header, even without _meta', request({ params: {} }), {}, 'HEADER_MISMATCH 400'],
    ['no _meta', request({ params: {} }), headers, 'MISSING_REQUIRED_PARAM 400'],
    ['_meta that is not an object', request({ params: { _meta: 5 } }), headers, 'MISSING_REQUIRED_PARAM 400'],
    [
      '_meta without capabilities',
      request({ params: { _meta: { [metaNames.protocolVersion]: version } } }),
      headers,
      'MISSING_REQUIRED_PARAM 400',
    ],
    [
      'another version in _meta',
      request({ params: { _meta: { ...meta, [metaNames.protocolVersion]: 'v999' } } }),
      headers,
      'HEADER_MISMATCH 400',
    ],
    [
      'an unknown version in both',
      request({ params: { _meta: { ...meta, [metaNames.protocolVersion]: 'v999' } } }),
      { ...headers, 'mcp-protocol-version': 'v999' },
      'UNSUPPORTED_PROTOCOL_VERSION 400',
    ],
    ['no method header', request(), { 'mcp-protocol-version': version }, 'HEADER_MISMATCH 400'],
    ['a method in other case', request(), { ...headers, 'mcp-method': 'TOOLS/LIST' }, 'HEADER_MISMATCH 400'],
    ['blanks around the method', request(), { ...headers, 'mcp-method': '  tools/list ' }, 'served'],
    ['no name header', call('echo'), { ...headers, 'mcp-method': 'tools/call' }, 'HEADER_MISMATCH 400'],
    ['the name', call('echo'), callHeaders('echo'), 'served'],
    ['another name', call('echo'), callHeaders('Echo'), 'HEADER_MISMATCH 400'],
    ['the name in base64', call('écho'), callHeaders('=?base64?w6ljaG8=?='), 'served'],
    ['a name in broken base64', call('echo'), callHeaders('=?base64?ZWNobw?='), 'HEADER_MISMATCH 400'],
    ['a name in base64 that is not UTF-8', call('echo'), callHeaders('=?base64?/w==?='), 'HEADER_MISMATCH 400'],
    ['a body without name', call(undefined), callHeaders('echo'), 'served'],
    [
      'a task id that differs',
      request({ method: 'tasks/get', params: { _meta: meta, taskId: 'a' } }),
      { ...headers, 'mcp-method': 'tasks/get', 'mcp-name': 'b' },
      'HEADER_MISMATCH 400',
    ],
  ];
  for (const [what, message, sent, expected] of rows) {
    it(`answers ${expected} for ${what}`, () => {
      expect(refusal(() => checkStatelessRequest(message, sent))).to.equal(expected);
    });
  }

  it('names what _meta lacks', () => {
    const check = () => checkStatelessRequest(request({ params: { _meta: {} } }), headers);
    expect(check)
      .to.throw(RpcFailure)
      .with.nested.property('options.details')
      .that.deep.equals({ missing: [metaNames.protocolVersion, metaNames.clientCapabilities] });
  });
});

describe('checking headers that repeat arguments', () => {
  const marks = parameterHeaders({
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
      inner: { type: 'object', properties: { deep: { type: 'string', 'x-mcp-header': 'Deep' } } },
    },
  });
  const rows: readonly [args: Readonly<Record<string, unknown>>, Readonly<Record<string, string>>, served: boolean][] =
    [
      [{}, {}, true],
      [{ region: null }, {}, true],
      [{ region: 'eu' }, { 'mcp-param-region': 'eu' }, true],
      [{ region: 'eu' }, { 'mcp-param-region': 'EU' }, false],
      [{ region: 'eu' }, {}, false],
      [{}, { 'mcp-param-region': 'eu' }, false],
      [{ region: '上海' }, { 'mcp-param-region': '=?base64?5LiK5rW3?=' }, true],
      [{ region: '上海' }, { 'mcp-param-region': '=?base64?5LiK5rW?=' }, false],
      [{ count: 42 }, { 'mcp-param-count': '42.0' }, true],
      [{ count: 42 }, { 'mcp-param-count': '4.2e1' }, false],
      [{ count: 42 }, { 'mcp-param-count': '43' }, false],
      [{ dry: true }, { 'mcp-param-dry': 'true' }, true],
      [{ dry: true }, { 'mcp-param-dry': 'True' }, false],
      [{ inner: { deep: 'x' } }, { 'mcp-param-deep': 'x' }, true],
      [{ inner: { deep: 'x' } }, {}, false],
      [{ inner: 'text' }, {}, true],
    ];
  for (const [args, sent, served] of rows) {
    it(`${served ? 'serves' : 'refuses'} ${JSON.stringify(args)} with ${JSON.stringify(sent)}`, () => {
      const outcome = refusal(() => checkParameterHeaders(marks, args, sent));
      expect(outcome).to.equal(served ? 'served' : 'HEADER_MISMATCH 400');
    });
  }
});
