import { MortiseError } from '../sdk/index.js';

/** A parsed expression. Lists are ascending and without repetitions. */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 = Sunday … 6. */
  readonly weekDays: ReadonlySet<number>;
  /** Neither day field is open: a day matches when either field does. Else both must. */
  readonly eitherDay: boolean;
  /** Zone of a `TZ=` prefix; it wins over the caller's. */
  readonly zone: string | undefined;
}

interface FieldRule {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly names?: readonly string[];
  readonly questionMark?: true;
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const second: FieldRule = { name: 'second', least: 0, most: 59 };
const minute: FieldRule = { name: 'minute', least: 0, most: 59 };
const hour: FieldRule = { name: 'hour', least: 0, most: 23 };
const day: FieldRule = { name: 'day of month', least: 1, most: 31, questionMark: true };
const month: FieldRule = { name: 'month', least: 1, most: 12, names: monthNames };
const weekDay: FieldRule = { name: 'day of week', least: 0, most: 7, names: dayNames, questionMark: true };

const shorthands: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The error of an expression that cannot be used. */
export function invalidCron(reason: string): MortiseError {
  return new MortiseError('invalid_cron', `invalid cron expression: ${reason}`, {
    status: 400,
    hint: 'Write five fields: minute hour day-of-month month day-of-week, for example "30 2 * * mon-fri".',
  });
}

function numberOf(text: string, rule: FieldRule): number {
  const named = rule.names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + (rule === month ? 1 : 0) : /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw invalidCron(`"${text}" is no ${rule.name}`);
  if (value < rule.least || value > rule.most)
    throw invalidCron(`${rule.name} ${value} is not from ${rule.least} to ${rule.most}`);
  return value;
}

function stepOf(text: string | undefined, rule: FieldRule): number {
  if (text === undefined) return 1;
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (step < 1) throw invalidCron(`step "${text}" of ${rule.name} is not a whole number of at least 1`);
  return step;
}

function parseItem(item: string, rule: FieldRule, into: Set<number>): void {
  const [span = '', stepText, ...more] = item.split('/');
  if (more.length > 0 || span === '') throw invalidCron(`"${item}" is no ${rule.name}`);
  const step = stepOf(stepText, rule);
  let from: number;
  let to: number;
  if (span === '*' || (span === '?' && rule.questionMark)) {
    [from, to] = [rule.least, rule === weekDay ? 6 : rule.most];
  } else {
    const [first = '', last, ...rest] = span.split('-');
    if (rest.length > 0) throw invalidCron(`"${item}" is no ${rule.name}`);
    from = numberOf(first, rule);
    to = last === undefined ? (stepText === undefined ? from : rule === weekDay ? 6 : rule.most) : numberOf(last, rule);
    if (from > to && last === undefined) to = from;
    if (from > to) throw invalidCron(`range "${span}" of ${rule.name} runs backwards`);
  }
  for (let value = from; value <= to; value += step) into.add(rule === weekDay ? value % 7 : value);
}

function parseField(text: string, rule: FieldRule): ReadonlySet<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) parseItem(item, rule, values);
  return values;
}

function ascending(values: ReadonlySet<number>): readonly number[] {
  return [...values].sort((a, b) => a - b);
}

function isOpen(text: string): boolean {
  return text === '*' || text === '?' || text === '*/1';
}

/**
 * Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or `@daily` and its like; a prefix
 * `TZ=<zone> ` names the zone. Lists, ranges, steps (`5/20` = from 5), month and day names in any case.
 * @throws MortiseError `invalid_cron` with the reason.
 */
export function parseCron(expression: string): CronFields {
  const prefix = /^\s*(?:CRON_)?TZ=(\S+)\s+/.exec(expression);
  const body = (prefix === null ? expression : expression.slice(prefix[0].length)).trim();
  if (body.startsWith('@') && shorthands[body.toLowerCase()] === undefined) {
    throw invalidCron(`"${body}" is not known; there are ${Object.keys(shorthands).join(', ')}`);
  }
  const fields = (shorthands[body.toLowerCase()] ?? body).split(/\s+/);
  if (body === '' || fields.length < 5 || fields.length > 6) {
    throw invalidCron(`expected 5 or 6 fields, found ${body === '' ? 0 : fields.length}`);
  }
  const [seconds = '', minutes = '', hours = '', days = '', months = '', weekDays = ''] =
    fields.length === 6 ? fields : ['0', ...fields];
  return {
    seconds: ascending(parseField(seconds, second)),
    minutes: ascending(parseField(minutes, minute)),
    hours: ascending(parseField(hours, hour)),
    days: parseField(days, day),
    months: parseField(months, month),
    weekDays: parseField(weekDays, weekDay),
    eitherDay: !isOpen(days) && !isOpen(weekDays),
    zone: prefix?.[1],
  };
}
