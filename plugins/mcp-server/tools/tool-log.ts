import { type Logger, redactSecrets } from 'mortise/sdk';

/** Levels of MCP, least urgent first. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return (logLevels as readonly unknown[]).includes(value);
}

export type LogSink = (level: LogLevel, message: string) => void;

/**
 * A tool's log that also reaches the client which asked for it: the sentence only, without the fields, which may tell
 * of the machine.
 */
export function teeLog(log: Logger, threshold: LogLevel, sink: LogSink): Logger {
  const lowest = logLevels.indexOf(threshold);
  const line = (level: keyof Logger, as: LogLevel): Logger['info'] => {
    const heard = logLevels.indexOf(as) >= lowest;
    return (fields, message) => {
      if (message === undefined) log[level](fields);
      else log[level](fields, message);
      const sentence = message ?? (typeof fields === 'string' ? fields : undefined);
      if (heard && sentence !== undefined) sink(as, redactSecrets(sentence));
    };
  };
  return {
    trace: line('trace', 'debug'),
    debug: line('debug', 'debug'),
    info: line('info', 'info'),
    warn: line('warn', 'warning'),
    error: line('error', 'error'),
  };
}
