import { expect } from 'chai';
import { readMessage, resultText } from '../wire/message.js';

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

  it('does not take a nested id for the id of the message', () => {
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
    it(`takes ${text} for a ${kind}`, () => {
      expect(read(text).kind).to.equal(kind);
    });
  }

  it('answers without an id where none was sent', () => {
    expect(JSON.parse(resultText(undefined, '{}'))).to.deep.equal({ jsonrpc: '2.0', result: {} });
    expect(JSON.parse(resultText('"a"', '{}'))).to.deep.equal({ jsonrpc: '2.0', id: 'a', result: {} });
  });
});
