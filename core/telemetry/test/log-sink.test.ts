import { expect } from 'chai';
import { MortiseError } from '../../sdk/index.js';
import { createLogSink } from '../log-sink.js';
import type { LogLevel } from '../types.js';

function recorded(level: LogLevel = 'trace') {
  const lines: string[] = [];
  const sink = createLogSink({ level, destination: { write: (line) => lines.push(line) } });
  return { sink, lines, last: (): Record<string, unknown> => JSON.parse(lines.at(-1) ?? '{}') };
}

const canary = 'kanarienvogel-4711';

describe('the log', () => {
  it('writes JSON lines with time, level, message and fields', () => {
    const { sink, last } = recorded();
    sink.log
      .child({ plugin: 'kb' })
      .child({ request_id: 'req-1', correlation_id: 'corr-1' })
      .info({ status: 200 }, 'Answered.');
    const { ts, ...line } = last();
    expect(line).to.deep.equal({
      level: 'info',
      plugin: 'kb',
      request_id: 'req-1',
      correlation_id: 'corr-1',
      status: 200,
      msg: 'Answered.',
    });
    expect(String(ts)).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('logs the type and stack of an error, and messages only of platform errors', () => {
    const { sink, lines } = recorded();
    sink.log.error({ err: new SyntaxError(`Unexpected "${canary}"`, { cause: new Error(canary) }) }, 'It failed.');
    sink.log.error({ err: new MortiseError('port_in_use', 'Port 1 is in use.') }, 'It failed.');
    expect(lines[0]).to.contain('SyntaxError').and.to.contain('log-sink.test').and.not.to.contain(canary);
    expect(lines[1]).to.contain('Port 1 is in use.');
  });

  it('does not log the details of an error', () => {
    const { sink, last } = recorded();
    const err = new MortiseError('refused', 'No.', { details: { said: 'my grandmother is ill' } });
    sink.log.error({ err: new Error('a', { cause: err }), deep: { err } }, 'It failed.');
    expect(last().err).to.deep.include({ type: 'Error' });
    expect(JSON.stringify(last())).to.contain('"code":"refused"').and.to.not.contain('grandmother');
  });

  it('writes no line below its level, which can change', () => {
    const { sink, lines } = recorded('warn');
    sink.log.info('quiet');
    expect(sink.log.enabled('info')).to.equal(false);
    sink.setLevel('debug');
    sink.log.debug('loud');
    expect(lines).to.have.length(1);
  });

  it('never reads the fields of a line that is not written', () => {
    const { sink } = recorded('info');
    sink.log.debug({
      get trap(): never {
        throw new Error('read');
      },
    });
  });

  it('keeps a secret out of bound fields that were written before it was known', () => {
    const { sink, lines } = recorded();
    const log = sink.log.child({ note: canary });
    log.info('before');
    sink.hide(canary);
    log.info('after');
    expect(lines[0]).to.contain(canary);
    expect(lines[1]).to.not.contain(canary);
  });

  const hiding: readonly (readonly [string, () => object])[] = [
    ['a field', () => ({ note: canary })],
    ['a nested field', () => ({ a: { b: [{ c: `x ${canary} y` }] } })],
    ['a field name', () => ({ [canary]: 1 })],
    ['an error', () => new Error(`broke on ${canary}`)],
    ['an error member', () => ({ err: new Error(`broke on ${canary}`) })],
    ['the cause of a cause', () => ({ err: new Error('a', { cause: new Error('b', { cause: new Error(canary) }) }) })],
    ['a cause that is text', () => ({ err: new Error('a', { cause: canary }) })],
    ['error details', () => new MortiseError('x', 'y', { details: { url: `https://h/?k=${canary}` } })],
    ['a URL', () => ({ url: new URL(`https://user:${canary}@host/`) })],
    ['text that was percent-encoded', () => ({ path: `/x?k=${encodeURIComponent('kanarien vogel/4711')}` })],
  ];
  for (const [where, fields] of hiding) {
    it(`keeps a known secret out of ${where}`, () => {
      const { sink, lines } = recorded();
      sink.hide(canary);
      sink.hide('kanarien vogel/4711');
      sink.log.trace(fields(), `Sentence with ${canary}.`);
      sink.log.child({ bound: fields() }).error('again');
      expect(lines).to.have.length(2);
      expect(lines.join('')).to.not.match(/kanarien/);
    });
  }

  const looks: readonly string[] = [
    'postgres://mortise:hunter2hunter@db/x',
    'Authorization: Bearer abcdefghijklmnop',
    'api_key=abcdefgh12345678',
    'the key sk-proj-abcdefghijklmnopqrstuvwx',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    '-----BEGIN PRIVATE KEY-----\nMIIEvAIBADAN\n-----END PRIVATE KEY-----',
    '{"password": "correcthorse"}',
  ];
  for (const text of looks) {
    it(`redacts what looks like a secret: ${text.slice(0, 24)}…`, () => {
      const { sink, lines } = recorded();
      sink.log.info({ deep: { note: text } }, text);
      expect(lines[0]).to.contain('[REDACTED]');
      for (const part of ['hunter2', 'abcdefgh', 'c2lnbmF0', 'MIIEvA', 'correcthorse'])
        expect(lines[0]).to.not.contain(part);
    });
  }

  it('redacts members with a secret name and keeps mere counts', () => {
    const { sink, last } = recorded();
    sink.log.info({
      headers: { authorization: 'x', 'X-Api-Key': 'y' },
      apiKey: 'z',
      client_secret: ['a'],
      max_token: 5,
      session_key: 'user:1',
    });
    expect(last()).to.deep.include({
      headers: { authorization: '[REDACTED]', 'X-Api-Key': '[REDACTED]' },
      apiKey: '[REDACTED]',
      client_secret: '[REDACTED]',
      max_token: 5,
      session_key: 'user:1',
    });
  });

  it('omits texts of users and models at every level', () => {
    const { sink, lines } = recorded('trace');
    const spoken = 'my grandmother is ill';
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
      sink.log[level]({
        text: spoken,
        deep: { content: [{ prompt: spoken }], arguments: { q: spoken }, Body: spoken },
      });
    }
    expect(lines).to.have.length(5);
    expect(lines.join('')).to.not.contain('grandmother');
  });

  it('handles cycles, bytes, big numbers and long texts', () => {
    const { sink, lines } = recorded();
    const cycle: Record<string, unknown> = {
      bytes: new Uint8Array(9),
      big: 12n,
      none: undefined,
      long: 'x'.repeat(9_000),
    };
    cycle.self = cycle;
    sink.log.info(cycle);
    expect(lines).to.have.length(1);
    expect(lines[0]?.length).to.be.below(20_000);
    expect(lines[0]).to.contain('"bytes":"[9 bytes]"').and.to.contain('"big":"12"');
  });
});
