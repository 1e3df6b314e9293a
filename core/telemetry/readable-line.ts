import { isatty } from 'node:tty';
import { oneLine } from '../sdk/text.js';

export type LogFormat = 'auto' | 'json' | 'text';

/** Correlation ids for log processing; readable lines omit them. */
const forMachines = new Set([
  'ts',
  'level',
  'msg',
  'plugin',
  'request_id',
  'requestId',
  'correlation_id',
  'correlationId',
  'trace_id',
  'span_id',
  'stack',
]);

const colours = { dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, grey: 90 } as const;

const levelColours: Readonly<Record<string, keyof typeof colours>> = {
  trace: 'grey',
  debug: 'grey',
  info: 'green',
  warn: 'yellow',
  error: 'red',
};

/** Whether log lines on this file descriptor are for people. */
export function isReadable(format: LogFormat, descriptor: number, terminal: (fd: number) => boolean = isatty): boolean {
  return format === 'text' || (format === 'auto' && terminal(descriptor));
}

/**
 * A JSON log line as one short line for people: time of day, level, plugin, sentence, and the facts beside it. Stacks stay
 * in the JSON form.
 *
 * @example readableLine('{"level":"info","ts":"2026-01-01T12:00:00.000Z","plugin":"kb","msg":"Ready.","files":3}\n')
 * // "12:00:00.000 info  kb Ready. files=3\n"
 */
export function readableLine(json: string, coloured = false): string {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const paint = (colour: keyof typeof colours, text: string): string =>
    coloured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text;
  const level = String(line.level);
  const facts = Object.entries(line)
    .filter(([name, value]) => !forMachines.has(name) && value !== undefined && value !== null && value !== '')
    .map(([name, value]) => `${oneLine(name)}=${oneLine(fact(value))}`);
  return `${[
    paint('grey', localTime(String(line.ts))),
    paint(levelColours[level] ?? 'grey', level.padEnd(5)),
    ...(typeof line.plugin === 'string' ? [paint('cyan', oneLine(line.plugin))] : []),
    oneLine(String(line.msg)),
    ...facts.map((one) => paint('dim', one)),
  ].join(' ')}\n`;
}

/** An error is shown as its code and message, everything else as JSON, one-word texts without quotes. */
function fact(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value && 'type' in value) {
    const { code, message } = value as { readonly code?: unknown; readonly message: unknown };
    return JSON.stringify(code === undefined ? String(message) : `${String(code)}: ${String(message)}`);
  }
  return typeof value === 'string' && /^\S+$/.test(value) ? value : (JSON.stringify(value) ?? '');
}

function localTime(timestamp: string): string {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) return timestamp;
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${clock}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}
