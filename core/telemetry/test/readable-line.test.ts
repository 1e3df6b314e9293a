import { expect } from 'chai';
import { createLogSink } from '../log-sink.js';
import { isReadable, readableLine } from '../readable-line.js';

const line = (fields: object): string => readableLine(JSON.stringify({ ts: '2026-01-01T12:00:00.000Z', ...fields }));

describe('readable log lines', () => {
  it('show time, level, plugin and message, then the fields', () => {
    const text = line({ level: 'info', plugin: 'kb', msg: 'Ready.', files: 3, root: '/docs' });
    expect(text).to.match(/^\d\d:\d\d:\d\d\.000 info {2}kb Ready\. files=3 root=\/docs\n$/);
  });

  it('omit correlation ids and stacks', () => {
    const text = line({ level: 'warn', msg: 'm', request_id: 'req-1', correlation_id: 'corr-1', stack: 'at x' });
    expect(text).to.match(/ warn {2}m\n$/);
  });

  it('show an error by its code and message', () => {
    const err = { type: 'MortiseError', code: 'no_room', message: 'The disk is full.', stack: 'at x' };
    expect(line({ level: 'error', msg: 'Failed.', err })).to.contain('err="no_room: The disk is full."');
  });

  it('stay one line, and never control the terminal', () => {
    const text = line({ level: 'info', plugin: 'a\u001b[2J', msg: 'one\ntwo\u001b[31m', 'x\u0007': 'y\u009b1m' });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: characters that must not occur
    expect(text.slice(0, -1)).not.to.match(/[\u0000-\u001f\u007f-\u009f]/);
    expect(text.indexOf('\n')).to.equal(text.length - 1);
  });

  it('are coloured only on request', () => {
    const json = '{"ts":"2026-01-01T12:00:00.000Z","level":"error","msg":"m"}';
    expect(readableLine(json, true)).to.contain('\u001b[31merror');
    expect(readableLine(json)).not.to.contain('\u001b');
  });

  it('are written to a terminal, and on request', () => {
    const answers = (format: 'auto' | 'json' | 'text') => [true, false].map((tty) => isReadable(format, 2, () => tty));
    expect(answers('auto')).to.deep.equal([true, false]);
    expect(answers('text')).to.deep.equal([true, true]);
    expect(answers('json')).to.deep.equal([false, false]);
  });

  it('are sanitized like the JSON ones', () => {
    const lines: string[] = [];
    const sink = createLogSink({ level: 'info', format: 'text', destination: { write: (text) => lines.push(text) } });
    sink.hide('kanarienvogel');
    sink.log.info({ text: 'what people wrote', note: 'kanarienvogel' }, 'sent');
    expect(lines.join('')).not.to.match(/what people wrote|kanarienvogel/);
    expect(sink.readable).to.equal(true);
  });
});
