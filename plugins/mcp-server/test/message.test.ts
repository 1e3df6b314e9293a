import { expect } from 'chai';
import { modeOf, readBody, readMessage, resultText } from '../wire/message.js';
import { metaNames } from '../wire/protocol.js';

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
    ['the legacy form', '{"tool":"memory_query","arguments":{}}', 'legacy'],
    ['a tool that is not a string', '{"tool":5}', 'unknown'],
    ['a method alone', '{"method":"tools/list"}', 'unknown'],
    ['an empty object', '{}', 'unknown'],
    ['a version in the prototype', '{"__proto__":{"jsonrpc":"2.0"}}', 'unknown'],
    ['100 levels', nested(100), 'batch'],
    ['101 levels', nested(101), 'too-deep'],
    ['101 levels below an object', `{"jsonrpc":"2.0","id":${nested(100)}}`, 'too-deep'],
    ['a flood of brackets', nested(200_000), 'too-deep'],
  ];
  for (const [what, body, form] of rows) {
    it(`reads ${what} as ${form}`, () => {
      expect(readBody(body).form).to.equal(form);
    });
  }

  it('does not repeat the body when it cannot be parsed', () => {
    const read = readBody('{"password": "hunter2"');
    expect(JSON.stringify(read)).not.to.contain('hunter2');
  });
});

const read = (text: string) => readMessage(JSON.parse(text), text);

describe('reading a JSON-RPC message', () => {
  const ids: readonly [sent: string, echoed: string | undefined][] = [
    ['1', '1'],
    ['"x"', '"x"'],
    ['""', '""'],
    ['0', '0'],
    ['-7', '-7'],
    ['1.5', '1.5'],
    ['12345678901234567890', '12345678901234567890'],
    ['1e400', '1e400'],
    ['true', 'true'],
    ['{"a":[1]}', '{"a":[1]}'],
    ['null', undefined],
  ];
  for (const [sent, echoed] of ids) {
    it(`echoes the id ${sent} as ${echoed ?? 'nothing'}`, () => {
      const message = read(`{"jsonrpc":"2.0","id":${sent},"method":"ping","params":{"id":99}}`);
      expect(message).to.include({ kind: 'request', idText: echoed });
    });
  }

  it('does not use a nested id as the id of the message', () => {
    expect(read('{"jsonrpc":"2.0","params":{"id":1e400},"method":"ping"}')).to.include({ idText: undefined });
  });

  const kinds: readonly [text: string, kind: string][] = [
    ['{"method":"ping"}', 'request'],
    ['{"method":"notifications/initialized"}', 'notification'],
    ['{"id":null,"method":"notifications/initialized"}', 'notification'],
    ['{"id":1,"method":"notifications/initialized"}', 'request'],
    ['{"id":1,"result":{}}', 'response'],
    ['{"id":1,"error":{}}', 'response'],
    ['{"id":1}', 'invalid'],
    ['{"id":1,"method":5}', 'invalid'],
    ['{"id":1,"method":5,"result":{}}', 'invalid'],
    ['{"id":1,"method":"tools/list","params":"x"}', 'invalid'],
    ['{"id":1,"method":"tools/list","params":[]}', 'invalid'],
    ['{"id":1,"method":"tools/list","params":null}', 'invalid'],
  ];
  for (const [text, kind] of kinds) {
    it(`reads ${text} as ${kind}`, () => {
      expect(read(text).kind).to.equal(kind);
    });
  }

  it('responds without an id to a message without one', () => {
    expect(JSON.parse(resultText(undefined, '{}'))).to.deep.equal({ jsonrpc: '2.0', result: {} });
    expect(JSON.parse(resultText('"a"', '{}'))).to.deep.equal({ jsonrpc: '2.0', id: 'a', result: {} });
  });
});

describe('the protocol mode of a message', () => {
  const rows: readonly {
    readonly meta?: unknown;
    readonly header?: string;
    readonly session?: boolean;
    readonly method?: string;
    readonly mode: 'session' | 'stateless';
  }[] = [
    { mode: 'session' },
    { meta: '2026-07-28', mode: 'stateless' },
    { meta: '2026-07-28', header: '2025-11-25', mode: 'stateless' },
    { meta: 'v999', mode: 'stateless' },
    { meta: 5, mode: 'stateless' },
    { meta: '2025-11-25', mode: 'session' },
    { meta: '2025-11-25', header: '2026-07-28', mode: 'stateless' },
    { header: '2026-07-28', mode: 'stateless' },
    { header: '1999-01-01', mode: 'stateless' },
    { header: '2024-11-05', mode: 'session' },
    { method: 'server/discover', mode: 'stateless' },
    { method: 'subscriptions/listen', mode: 'stateless' },
    { method: 'tasks/get', mode: 'stateless' },
    { method: 'tasks/get', session: true, mode: 'session' },
    { method: 'server/discover', header: '2025-06-18', mode: 'session' },
    { method: 'tools/list', session: true, mode: 'session' },
  ];
  for (const { meta, header, session = false, method = 'tools/list', mode } of rows) {
    const given = JSON.stringify({ method, meta, header, session });
    it(`is ${mode} for ${given}`, () => {
      const message = {
        method,
        meta: meta === undefined ? {} : { [metaNames.protocolVersion]: meta },
        headerVersion: header,
        hasSession: session,
      };
      expect(modeOf(message)).to.equal(mode);
    });
  }
});
