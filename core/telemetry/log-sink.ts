import { pino } from 'pino';
import { createLineWriter, descriptorOutput, isoTime, type LineOutput } from './line-writer.js';
import { isReadable, type LogFormat, readableLine } from './readable-line.js';
import { createSecretFilter, sanitizeFields } from './sanitize.js';
import type { HostLogger, LogFields, LogLevel, LogSink } from './types.js';

type WritableLevel = Exclude<LogLevel, 'silent'>;

export interface LogSinkOptions {
  readonly level: LogLevel;
  /** Where lines go; a stream of the caller's own in tests. */
  readonly destination: 'stdout' | 'stderr' | LineOutput;
  /** `auto` (default): for people on a terminal, JSON everywhere else. */
  readonly format?: LogFormat;
}

/**
 * JSON lines `{ts, level, msg, …}`, or the same for people. Fields are cleaned when a line is written, so a line that its level suppresses costs
 * one comparison.
 */
export function createLogSink(options: LogSinkOptions): LogSink {
  const filter = createSecretFilter();
  const { output, readable } = openOutput(options);
  const lines = createLineWriter(output);
  const writer = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"ts":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    lines,
  );

  function emit(
    level: WritableLevel,
    bound: () => LogFields | undefined,
    fields: object | string,
    message?: string,
  ): void {
    if (!writer.isLevelEnabled(level)) return;
    const text = filter.clean(typeof fields === 'string' ? fields : (message ?? ''));
    const own = typeof fields === 'string' ? undefined : sanitizeFields(fields, filter.clean);
    writer[level]({ ...bound(), ...own }, text);
  }

  /** Bound fields are cleaned with their first line, and again when more values must be hidden. */
  function cleanedOnce(bound: LogFields | undefined): () => LogFields | undefined {
    let cleaned: LogFields | undefined;
    let revision = -1;
    return () => {
      if (bound !== undefined && revision !== filter.revision) {
        revision = filter.revision;
        cleaned = sanitizeFields(bound, filter.clean);
      }
      return cleaned;
    };
  }

  function logger(given: LogFields | undefined): HostLogger {
    const bound = cleanedOnce(given);
    return {
      trace: (fields, message) => emit('trace', bound, fields, message),
      debug: (fields, message) => emit('debug', bound, fields, message),
      info: (fields, message) => emit('info', bound, fields, message),
      warn: (fields, message) => emit('warn', bound, fields, message),
      error: (fields, message) => emit('error', bound, fields, message),
      child: (fields) => logger(given === undefined ? fields : { ...given, ...fields }),
      enabled: (level) => writer.isLevelEnabled(level),
    };
  }

  return {
    log: logger(undefined),
    readable,
    dropped: () => lines.dropped,
    setLevel(level) {
      writer.level = level;
    },
    hide: filter.hide,
    clean: filter.clean,
    flush: () => writer.flush(),
  };
}

function openOutput({ destination, format = 'auto' }: LogSinkOptions): {
  readonly output: LineOutput;
  readonly readable: boolean;
} {
  if (typeof destination === 'object') {
    const readable = format === 'text';
    return { output: readable ? { write: (line) => destination.write(readableLine(line)) } : destination, readable };
  }
  const descriptor = destination === 'stdout' ? 1 : 2;
  const file = descriptorOutput(descriptor);
  if (!isReadable(format, descriptor)) return { output: file, readable: false };
  const stream = destination === 'stdout' ? process.stdout : process.stderr;
  const coloured = stream.isTTY === true && stream.hasColors();
  return { output: { write: (line) => file.write(readableLine(line, coloured)) }, readable: true };
}
