import { writeSync } from 'node:fs';

let second = Number.NaN;
let prefix = '';

/** Epoch milliseconds as ISO 8601. The date is written once a second: that takes a third of the time of a log line. */
export function isoTime(ms: number): string {
  const rest = ms % 1_000;
  if (ms - rest !== second) {
    second = ms - rest;
    prefix = new Date(second).toISOString().slice(0, -4);
  }
  return `${prefix}${String(rest).padStart(3, '0')}Z`;
}

/** Where finished lines go. It throws when a line, or the end of it, could not be written. */
export interface LineOutput {
  write(line: string): void;
}

interface LineWriter {
  /** Never throws: a line that cannot be written is dropped and counted. */
  write(line: string): void;
  /** Lines dropped since the start. */
  readonly dropped: number;
}

/** How long a full pipe may block a line before it is dropped, milliseconds. */
const pipePatienceMs = 10;

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/**
 * A log that cannot be written (a full disk, a closed pipe) must not stop the process. Lines are dropped until
 * one can be written again; a line with the number of missing lines precedes it.
 */
export function createLineWriter(output: LineOutput, now = () => new Date()): LineWriter {
  let dropped = 0;
  let missing = 0;
  let reason = '';

  const missingLine = (): string => {
    const msg = `${missing} log ${missing === 1 ? 'line' : 'lines'} could not be written (${reason})`;
    return `${JSON.stringify({ level: 'warn', ts: now().toISOString(), missing, msg })}\n`;
  };

  return {
    get dropped() {
      return dropped;
    },
    write(line) {
      try {
        if (missing > 0) {
          output.write(missingLine());
          missing = 0;
        }
        output.write(line);
      } catch (error) {
        dropped += 1;
        missing += 1;
        reason = reasonOf(error);
      }
    },
  };
}

/**
 * A file descriptor, written at once. Not a stream: a Node stream ends at its first error, and makes a
 * pipe non-blocking.
 */
export function descriptorOutput(descriptor: number): LineOutput {
  /** The last line was cut: the next begins on a new line. */
  let torn = false;
  let failed = false;

  const writeSome = (bytes: Uint8Array): number => {
    const last = performance.now() + pipePatienceMs;
    for (;;) {
      try {
        return writeSync(descriptor, bytes);
      } catch (error) {
        // A slow pipe is waited for briefly, but not while lines are being dropped.
        if (failed || reasonOf(error) !== 'EAGAIN' || performance.now() > last) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  };

  return {
    write(line) {
      const bytes = Buffer.from(torn ? `\n${line}` : line);
      let written = 0;
      try {
        while (written < bytes.length) written += writeSome(bytes.subarray(written));
        torn = false;
        failed = false;
      } catch (error) {
        failed = true;
        torn ||= written > 0;
        throw error;
      }
    },
  };
}
