import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLineWriter, descriptorOutput } from '../line-writer.js';
import { createLogSink } from '../log-sink.js';

const refusal = (code: string): Error => Object.assign(new Error(`${code}: refused`), { code });

describe('a log that cannot be written', () => {
  for (const code of ['ENOSPC', 'EPIPE', 'EIO', 'EAGAIN']) {
    it(`drops and counts lines on ${code}, and reports the number once it can write`, () => {
      const lines: string[] = [];
      let full = false;
      const destination = {
        write(line: string) {
          if (full) throw refusal(code);
          lines.push(line);
        },
      };
      const sink = createLogSink({ level: 'info', destination });
      sink.log.info('one');
      full = true;
      sink.log.info('two');
      sink.log.error({ err: new Error('a') }, 'three');
      expect(sink.dropped()).to.equal(2);
      full = false;
      sink.log.info('four');
      sink.log.info('five');
      const reported = lines.map((line): Record<string, unknown> => JSON.parse(line));
      const note = `2 log lines could not be written (${code})`;
      expect(reported.map(({ msg }) => msg)).to.deep.equal(['one', note, 'four', 'five']);
      expect(reported[1]).to.include({ level: 'warn', missing: 2 });
      expect(sink.dropped()).to.equal(2);
    });
  }

  it('keeps counting while the report of dropped lines cannot be written either', () => {
    const lines: string[] = [];
    let refused = 2;
    const writer = createLineWriter({
      write(line) {
        if (refused-- > 0) throw refusal('ENOSPC');
        lines.push(line);
      },
    });
    for (const line of ['{"msg":"a"}\n', '{"msg":"b"}\n', '{"msg":"c"}\n']) writer.write(line);
    expect(JSON.parse(lines[0] ?? '')).to.include({ missing: 2 });
    expect(lines[1]).to.equal('{"msg":"c"}\n');
  });

  it('writes the report of dropped lines in the readable format too', () => {
    const lines: string[] = [];
    let full = true;
    const destination = {
      write(line: string) {
        if (full) throw refusal('ENOSPC');
        lines.push(line);
      },
    };
    const sink = createLogSink({ level: 'info', destination, format: 'text' });
    sink.log.info('one');
    full = false;
    sink.log.info('two');
    expect(lines[0]).to.match(/warn {2}1 log line could not be written \(ENOSPC\) missing=1\n$/);
  });

  if (process.platform !== 'win32') {
    it('drops lines that do not fit into a full pipe, and continues on a new line', () => {
      const folder = mkdtempSync(join(tmpdir(), 'mortise-pipe-'));
      const path = join(folder, 'pipe');
      execFileSync('mkfifo', [path]);
      const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      const room = Buffer.alloc(1_000_000);
      try {
        const writer = createLineWriter(descriptorOutput(pipe));
        writer.write('first\n');
        writer.write(`${'x'.repeat(900_000)}\n`);
        writer.write('lost\n');
        expect(writer.dropped).to.equal(2);
        const first = room.toString('utf8', 0, readSync(pipe, room));
        expect(first).to.match(/^first\nx+$/);
        writer.write('last\n');
        const then = room.toString('utf8', 0, readSync(pipe, room));
        expect(then).to.match(/^\n\{.*"missing":2,.*EAGAIN.*\}\nlast\n$/);
      } finally {
        closeSync(pipe);
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});
