import { cronError } from '../errors.js';

/** The accepted values of one field, with the nearest one to each value. */
interface FieldValues {
  /** Ascending, without duplicates. */
  readonly values: readonly number[];
  /** By value: the smallest accepted value from it on; -1 for none. */
  readonly from: Int8Array;
  /** By value: the greatest accepted value up to it; -1 for none. */
  readonly upTo: Int8Array;
}

/** A parsed expression. */
export interface CronFields {
  readonly seconds: FieldValues;
  readonly minutes: FieldValues;
  readonly hours: FieldValues;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 = Sunday … 6. */
  readonly weekDays: ReadonlySet<number>;
  /** Neither day field is open: a day matches when either field does. Otherwise both must. */
  readonly eitherDay: boolean;
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

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The error of an expression that cannot be used. */
export function invalidCron(reason: string) {
  return cronError('invalid_cron_schedule', {
    message: `invalid cron expression: ${reason}`,
    hint: 'Write five fields: minute hour day-of-month month day-of-week, for example "30 2 * * mon-fri".',
  });
}

function numberOf(text: string, rule: FieldRule): number {
  const named = rule.names?.indexOf(text.toLowerCase()) ?? -1;
  const value = named >= 0 ? named + (rule === month ? 1 : 0) : /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw invalidCron(`"${text}" is not a ${rule.name}`);
  if (value < rule.least || value > rule.most) {
    throw invalidCron(`${rule.name} ${value} is not from ${rule.least} to ${rule.most}`);
  }
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
  if (more.length > 0 || span === '') throw invalidCron(`"${item}" is not a ${rule.name}`);
  const step = stepOf(stepText, rule);
  const most = rule === weekDay ? 6 : rule.most;
  let from = rule.least;
  let to = most;
  if (span !== '*' && !(span === '?' && rule.questionMark)) {
    const [first = '', last, ...rest] = span.split('-');
    if (rest.length > 0) throw invalidCron(`"${item}" is not a ${rule.name}`);
    from = numberOf(first, rule);
    // `a/step` runs to the greatest value; Sunday as 7 stands alone.
    if (last !== undefined) to = numberOf(last, rule);
    else if (stepText === undefined || from > most) to = from;
    if (from > to) throw invalidCron(`range "${span}" of ${rule.name} runs backwards`);
  }
  for (let value = from; value <= to; value += step) into.add(rule === weekDay ? value % 7 : value);
}

function parseField(text: string, rule: FieldRule): ReadonlySet<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) parseItem(item, rule, values);
  return values;
}

function valuesOf(accepted: ReadonlySet<number>, { most }: FieldRule): FieldValues {
  const from = new Int8Array(most + 2).fill(-1);
  const upTo = new Int8Array(most + 2).fill(-1);
  for (let value = most; value >= 0; value -= 1) from[value] = accepted.has(value) ? value : (from[value + 1] ?? -1);
  for (let value = 0; value <= most; value += 1) upTo[value] = accepted.has(value) ? value : (upTo[value - 1] ?? -1);
  return { values: [...accepted].sort((a, b) => a - b), from, upTo };
}

function isOpen(text: string): boolean {
  return text === '*' || text === '?' || text === '*/1';
}

/**
 * Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or a macro such as `@daily`. Lists,
 * ranges, steps (`5/20` = from 5), month and day names in any case.
 * @throws MortiseError `invalid_cron_schedule` with the reason.
 */
export function parseCron(expression: string): CronFields {
  const body = expression.trim();
  const macro = macros[body.toLowerCase()];
  if (body.startsWith('@') && macro === undefined) {
    throw invalidCron(`"${body}" is not known; known are ${Object.keys(macros).join(', ')} and @every <duration>`);
  }
  const fields = (macro ?? body).split(/\s+/);
  if (body === '' || fields.length < 5 || fields.length > 6) {
    throw invalidCron(`expected 5 or 6 fields, found ${body === '' ? 0 : fields.length}`);
  }
  const [seconds = '', minutes = '', hours = '', days = '', months = '', weekDays = ''] =
    fields.length === 6 ? fields : ['0', ...fields];
  return {
    seconds: valuesOf(parseField(seconds, second), second),
    minutes: valuesOf(parseField(minutes, minute), minute),
    hours: valuesOf(parseField(hours, hour), hour),
    days: parseField(days, day),
    months: parseField(months, month),
    weekDays: parseField(weekDays, weekDay),
    eitherDay: !isOpen(days) && !isOpen(weekDays),
  };
}
