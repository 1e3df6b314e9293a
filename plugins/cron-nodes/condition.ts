/** The values that a condition can be about. */
export interface ConditionFacts {
  readonly job_id: string;
  readonly job_name: string;
  readonly channel: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly task_type: string;
  /** `succeeded`, `failed` or `none`. */
  readonly prev_status: string;
  readonly prev_reply: string;
  /** `schedule`, `manual`, `retry` or `recovery`. */
  readonly trigger: string;
  /** `mon` to `sun`, of the slot in the job's zone. */
  readonly weekday: string;
  /** `0` to `23`, of the slot in the job's zone. */
  readonly hour: string;
}

type Operator = '==' | '!=' | 'contains' | 'not_contains';

interface Condition {
  readonly field: keyof ConditionFacts;
  readonly operator: Operator;
  readonly value: string;
}

const fields: readonly (keyof ConditionFacts)[] = [
  'job_id',
  'job_name',
  'channel',
  'user_id',
  'session_id',
  'task_type',
  'prev_status',
  'prev_reply',
  'trigger',
  'weekday',
  'hour',
];

/** `<field> == <value>`; blanks around `contains` and `not_contains` are required. The value is read separately. */
const form = /^([a-z_]\w*)(?:\s*(==|!=)\s*|\s+(contains|not_contains)\s+)(.+)$/is;
/** A quoted text without escapes, or one token without blanks. */
const valueForm = /^(?:"([^"]*)"|'([^']*)'|([^\s"']\S*))$/s;

/** A condition, or why the text is not one. */
export function parseCondition(text: string): Condition | { readonly problem: string } {
  const trimmed = text.trim();
  if (trimmed === '') return { problem: 'if_condition is required' };
  const [, name = '', sign, word, rest = ''] = form.exec(trimmed) ?? [];
  const [, double, single, token] = valueForm.exec(rest) ?? [];
  const value = double ?? single ?? token;
  if (name === '' || value === undefined) {
    return { problem: 'if_condition must match `<field> == <value>` or `<field> != <value>`' };
  }
  const field = fields.find((known) => known === name.toLowerCase());
  if (!field) return { problem: `if_condition field "${name}" is unsupported` };
  return { field, operator: (sign ?? word ?? '').toLowerCase() as Operator, value };
}

/** Compares exact texts. */
export function evaluateCondition({ field, operator, value }: Condition, facts: ConditionFacts): boolean {
  const actual = facts[field];
  switch (operator) {
    case '==':
      return actual === value;
    case '!=':
      return actual !== value;
    case 'contains':
      return actual.includes(value);
    case 'not_contains':
      return !actual.includes(value);
  }
}
