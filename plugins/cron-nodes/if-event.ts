import { type CronNode, type CronNodeContext, type CronNodeFacts, MortiseError } from 'mortise/sdk';
import { type ConditionFacts, evaluateCondition, parseCondition } from './condition.js';

/** Chooses the true or the false edge. */
export function ifEventNode(facts: CronNodeFacts): CronNode {
  const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    ...facts,
    validate({ if_condition }) {
      const condition = parseCondition(textOf(if_condition));
      return 'problem' in condition ? { predicate: `if_condition invalid: ${condition.problem}` } : undefined;
    },
    async run({ if_condition }, ctx) {
      const condition = parseCondition(textOf(if_condition));
      if ('problem' in condition) throw new MortiseError('invalid_condition', condition.problem, { status: 400 });
      const branch = evaluateCondition(condition, factsOf(ctx)) ? 'true' : 'false';
      return { branch, result: branch };
    },
  };
}

function factsOf({ job, jobId, trigger, previous, scheduledAt, startedAt }: CronNodeContext): ConditionFacts {
  return {
    job_id: jobId,
    job_name: job.name,
    channel: job.channel.toLowerCase(),
    user_id: job.userId,
    session_id: job.sessionId,
    task_type: job.taskType.toLowerCase(),
    prev_status: previous.status,
    prev_reply: previous.reply,
    trigger,
    ...localTime(scheduledAt ?? startedAt, job.timezone),
  };
}

function localTime(instant: string, timeZone: string): Pick<ConditionFacts, 'weekday' | 'hour'> {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short', hour: 'numeric', hourCycle: 'h23' });
  const parts = new Map(format.formatToParts(new Date(instant)).map(({ type, value }) => [type, value]));
  return { weekday: (parts.get('weekday') ?? '').toLowerCase(), hour: String(Number(parts.get('hour'))) };
}
