import { expect } from 'chai';
import { matchesTemplate } from '../methods/resources.js';
import { accepted } from '../reply.js';
import { traceOf } from '../run-request.js';
import { RpcFailure } from '../wire/failure.js';
import { offsetOf, page } from '../wire/params.js';
import { openRequestState, sealRequestState } from '../wire/request-state.js';

describe('Accept', () => {
  const rows: readonly [string | undefined, json: boolean, stream: boolean][] = [
    [undefined, true, false],
    ['', true, false],
    ['*/*', true, false],
    ['application/json', true, false],
    ['application/json, text/event-stream', true, true],
    ['text/event-stream', false, true],
    ['TEXT/EVENT-STREAM', false, true],
    ['text/*', false, true],
    ['text/html', false, false],
    ['application/json;q=0, text/event-stream', false, true],
    ['application/json;q=0.5', true, false],
  ];
  for (const [value, json, stream] of rows) {
    it(`${JSON.stringify(value)} accepts ${json ? 'JSON' : 'no JSON'} and ${stream ? 'streams' : 'no streams'}`, () => {
      expect(accepted(value)).to.deep.equal({ json, stream });
    });
  }
});

describe('paging', () => {
  const items = Array.from({ length: 250 }, (_, index) => index);

  it('splits a list into pages of 100', () => {
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const { items: some, next } = page(items, offsetOf(cursor === undefined ? {} : { cursor }, items.length));
      seen.push(...some);
      cursor = next;
    } while (cursor !== undefined);
    expect(seen).to.deep.equal(items);
  });

  for (const cursor of ['', 'x', 5, null, 'cGFnZTo1', 'cGFnZTozMDA', 'cGFnZTowMTAw', {}]) {
    it(`refuses the cursor ${JSON.stringify(cursor)}`, () => {
      expect(() => offsetOf({ cursor }, items.length))
        .to.throw(RpcFailure)
        .with.property('reason', 'INVALID_PARAM_VALUE');
    });
  }
});

describe('the state of an interrupted request', () => {
  const key = Buffer.alloc(32, 7);
  const identity = { principal: 'local', method: 'tools/call', boundParams: { name: 'x', arguments: { a: 1, b: 2 } } };
  const token = sealRequestState(key, identity, { name: { action: 'accept' } }, 1_000);
  const opened = (change: object, sent: unknown = token, now = 2_000) => {
    try {
      return openRequestState(key, { ...identity, ...change }, sent, now);
    } catch (error) {
      return error instanceof RpcFailure ? error.reason : error;
    }
  };

  it('returns the answers to the same request', () => {
    expect(opened({})).to.deep.equal({ name: { action: 'accept' } });
    expect(opened({ boundParams: { arguments: { b: 2, a: 1 }, name: 'x' } })).to.deep.equal({
      name: { action: 'accept' },
    });
  });

  it('is valid for the same principal and request only, for ten minutes', () => {
    for (const change of [
      { principal: 'eve' },
      { method: 'prompts/get' },
      { boundParams: { name: 'x', arguments: { a: 1, b: 3 } } },
    ]) {
      expect(opened(change)).to.equal('INVALID_PARAM_VALUE');
    }
    expect(opened({}, token, 601_000)).to.deep.equal({ name: { action: 'accept' } });
    expect(opened({}, token, 601_001)).to.equal('INVALID_PARAM_VALUE');
  });

  it('is refused when it is forged', () => {
    const [payload, signature] = token.split('.');
    const forged = Buffer.from(JSON.stringify({ p: 'local' })).toString('base64url');
    for (const sent of [5, null, '', '.', 'x', `${payload}.`, `${forged}.${signature}`, `${payload}x.${signature}`]) {
      expect(opened({}, sent), String(sent)).to.equal('INVALID_PARAM_VALUE');
    }
  });
});

describe('traces and URI templates', () => {
  it('continues a trace of _meta only without a header', () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    expect(traceOf({}, { traceparent })).to.deep.equal({
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      sampled: true,
    });
    expect(traceOf({ traceparent: 'x' }, { traceparent })).to.equal(undefined);
    expect(traceOf({}, { traceparent: `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01` })).to.equal(undefined);
    expect(traceOf({}, { traceparent: 5 })).to.equal(undefined);
  });

  it('matches URI templates', () => {
    expect(matchesTemplate('test://template/{id}/data', 'test://template/5/data')).to.equal(true);
    expect(matchesTemplate('test://template/{id}/data', 'test://template/5/6/data')).to.equal(false);
    expect(matchesTemplate('file:///{+path}', 'file:///a/b.txt')).to.equal(true);
    expect(matchesTemplate('a.b/{x}', 'aXb/1')).to.equal(false);
  });
});
