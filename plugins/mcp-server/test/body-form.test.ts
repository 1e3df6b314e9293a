import { expect } from 'chai';
import { readBody } from '../wire/body-form.js';

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('reading a body', () => {
  const rows: readonly [what: string, body: string, form: string][] = [
    ['nothing', '', 'unparsable'],
    ['white space', ' \n ', 'unparsable'],
    ['a broken object', '{', 'unparsable'],
    ['text after the value', '{} {}', 'unparsable'],
    ['NaN', 'NaN', 'unparsable'],
    ['an array', '[]', 'batch'],
    ['null', 'null', 'scalar'],
    ['a number', '5', 'scalar'],
    ['a string', '"tools/list"', 'scalar'],
    ['JSON-RPC', '{"jsonrpc":"2.0","id":1,"method":"ping"}', 'json-rpc'],
    ['JSON-RPC with a tool', '{"jsonrpc":"2.0","tool":"x"}', 'json-rpc'],
    ['JSON-RPC 1.0', '{"jsonrpc":"1.0","method":"tools/list"}', 'unknown'],
    ['JSON-RPC as a number', '{"jsonrpc":2.0,"method":"tools/list"}', 'unknown'],
    ['JSON-RPC 1.0 with a tool', '{"jsonrpc":"1.0","tool":"x"}', 'unknown'],
    ['the older form', '{"tool":"memory_query","arguments":{}}', 'legacy'],
    ['a tool that is no string', '{"tool":5}', 'unknown'],
    ['a method alone', '{"method":"tools/list"}', 'unknown'],
    ['an empty object', '{}', 'unknown'],
    ['a version in the prototype', '{"__proto__":{"jsonrpc":"2.0"}}', 'unknown'],
    ['100 levels', nested(100), 'batch'],
    ['101 levels', nested(101), 'too-deep'],
    ['101 levels below an object', `{"jsonrpc":"2.0","id":${nested(100)}}`, 'too-deep'],
    ['a flood of brackets', nested(200_000), 'too-deep'],
  ];
  for (const [what, body, form] of rows) {
    it(`takes ${what} for ${form}`, () => {
      expect(readBody(body).form).to.equal(form);
    });
  }

  it('does not repeat the body when it cannot be parsed', () => {
    const read = readBody('{"password": "hunter2"');
    expect(JSON.stringify(read)).not.to.contain('hunter2');
  });
});
