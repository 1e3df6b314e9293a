import {
  type Command,
  type CommandFacts,
  type CommandInput,
  type CommandResult,
  type Principal,
  wrongUsage,
} from 'mortise/sdk';
import type { CronRun, CronSlot } from '../contract/index.js';
import { cronError } from '../errors.js';
import type { CronOperations } from '../operations.js';
import type { Job } from '../store/rows.js';

/** What one of the commands does with its arguments; undefined or a sentence for wrong usage. */
type Action = (
  input: CommandInput,
  operations: CronOperations,
  principal: Principal,
) => Promise<Omit<CommandResult, 'exitCode'>> | string | undefined;

const bodyMissing = 'The job is missing: give it with --body or --file.';

interface CommandRow {
  readonly act: Action;
  readonly reads?: true;
}

function option({ options }: CommandInput, name: string): string | undefined {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The JSON of `--body`, or of the file of `--file`. */
function bodyOf(input: CommandInput): unknown {
  const text = option(input, 'body') ?? option(input, 'file');
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw cronError('invalid_json', { hint: 'Pass JSON with --body, or a file with JSON with --file.' });
  }
}

/** An action on the one job or run that the only argument names. */
function onOne(
  act: (
    id: string,
    operations: CronOperations,
    principal: Principal,
    input: CommandInput,
  ) => Promise<Omit<CommandResult, 'exitCode'>>,
): Action {
  return (input, operations, principal) => {
    const [id, ...more] = input.args;
    return id === undefined || more.length > 0 ? undefined : act(id, operations, principal, input);
  };
}

const lines = (texts: readonly string[], none: string): string => (texts.length === 0 ? none : texts.join('\n'));

function jobLine({ id, spec, state }: Job): string {
  const mode = state.paused ? 'paused' : spec.enabled ? 'enabled' : 'disabled';
  const next = state.next_run_at ?? '-';
  return `${id}  ${mode}  ${spec.schedule.cron} (${spec.schedule.timezone})  next ${next}  ${state.last_status ?? ''}  ${spec.name}`;
}

function runLine({ run_id, status, trigger, scheduled_at, started_at, duration_ms, error }: CronRun): string {
  const time = duration_ms === null ? '' : `${duration_ms} ms`;
  return `${run_id}  ${status}  ${trigger}  ${scheduled_at ?? '-'}  ${started_at ?? '-'}  ${time}  ${error ?? ''}`.trimEnd();
}

function slotLine({ scheduled_at, through_at, slot_count, outcome, reason, run_id, attempts }: CronSlot): string {
  const span =
    scheduled_at === through_at
      ? scheduled_at
      : `${scheduled_at} to ${through_at} (${slot_count ?? 'more than 100000'})`;
  const attempt = attempts > 1 ? `  attempt ${attempts}` : '';
  return `${span}  ${outcome}${reason === null ? '' : ` ${reason}`}  ${run_id ?? ''}${attempt}`.trimEnd();
}

/** Instants in the schedule's zone and in UTC. */
function instantLines(next: readonly string[], timezone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'short',
    year: 'numeric',
    month: 'short',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'shortOffset',
  });
  return lines(
    next.map((at) => `${format.format(new Date(at))}  ${at}`),
    'No coming slots.',
  );
}

const defaultCount = 5;

export const commandRows = {
  list: {
    reads: true,
    act: (input, operations, principal) =>
      input.args.length > 0
        ? undefined
        : operations.list(principal).then((jobs) => ({
            data: jobs.map(({ spec, state }) => ({ ...spec, state })),
            text: lines(jobs.map(jobLine), 'No jobs.'),
          })),
  },
  create: {
    act(input, operations, principal) {
      const body = bodyOf(input);
      if (input.args.length > 0) return undefined;
      if (body === undefined) return bodyMissing;
      return operations.save(principal, body).then((spec) => ({ data: spec, text: `Saved ${spec.id}.` }));
    },
  },
  update: {
    act(input, operations, principal) {
      const [id, ...more] = input.args;
      const body = bodyOf(input);
      if (id === undefined || more.length > 0) return undefined;
      if (body === undefined) return bodyMissing;
      return operations.replace(principal, id, body).then((spec) => ({ data: spec, text: `Saved ${spec.id}.` }));
    },
  },
  delete: {
    act: onOne(async (id, operations, principal) => {
      const deleted = await operations.delete(principal, id);
      return { data: { deleted }, text: deleted ? `Deleted ${id}.` : `There is no job ${id}.` };
    }),
  },
  pause: {
    act: onOne(async (id, operations, principal) => {
      await operations.setPaused(principal, id, true);
      return { data: { paused: true }, text: `Paused ${id}.` };
    }),
  },
  resume: {
    act: onOne(async (id, operations, principal) => {
      await operations.setPaused(principal, id, false);
      return { data: { resumed: true }, text: `Resumed ${id}.` };
    }),
  },
  run: {
    act: onOne(async (id, operations, principal, { options }) => {
      const wait = options.wait !== false;
      const runId = await operations.run(principal, id, { wait });
      return { data: { started: true, run_id: runId }, text: `${wait ? 'Ran' : 'Started'} ${id}: ${runId}` };
    }),
  },
  state: {
    reads: true,
    act: onOne(async (id, operations, principal) => {
      const job = await operations.get(principal, id);
      const { last_execution, ...state } = job.state;
      const nodes = last_execution?.nodes.map(({ node_id, node_type, status, error }) =>
        `  ${node_id}  ${node_type}  ${status}  ${error ?? ''}`.trimEnd(),
      );
      const facts = Object.entries(state).map(([name, value]) => `${name}: ${value}`);
      return {
        data: { spec: job.spec, state: job.state },
        text: [jobLine(job), ...facts, ...(nodes ?? [])].join('\n'),
      };
    }),
  },
  runs: {
    reads: true,
    act: onOne(async (id, operations, principal, input) => {
      const limit = Number(option(input, 'limit') ?? 50);
      const listed = await operations.runs(principal, id, { limit, after: undefined }, option(input, 'status'));
      const runs = listed.map(({ run }) => run);
      return { data: runs, text: lines(runs.map(runLine), 'No runs.') };
    }),
  },
  slots: {
    reads: true,
    act: onOne(async (id, operations, principal, input) => {
      const range = { from: option(input, 'from'), to: option(input, 'to') };
      const limit = Number(option(input, 'limit') ?? 200);
      const slots = await operations.slots(principal, id, { limit, after: undefined }, range);
      return { data: slots, text: lines(slots.map(slotLine), 'No slots.') };
    }),
  },
  preview: {
    reads: true,
    act(input, operations, principal) {
      const [id, ...more] = input.args;
      const body = bodyOf(input);
      if (more.length > 0) return undefined;
      if ((id === undefined) === (body === undefined)) return 'Name a job, or give one with --body or --file.';
      return id === undefined
        ? previewBody(body, operations)
        : previewJob(id, operations, principal, Number(option(input, 'count') ?? defaultCount));
    },
  },
  cancel: {
    act: onOne(async (id, operations, principal) => {
      const cancelled = await operations.cancel(principal, id);
      return { data: { cancelled }, text: cancelled ? `Cancelled ${id}.` : `${id} has ended already.` };
    }),
  },
} as const satisfies Record<string, CommandRow>;

async function previewBody(body: unknown, operations: CronOperations) {
  const { next, schedule } = operations.preview(body);
  return { data: { next, schedule }, text: instantLines(next, schedule.timezone) };
}

async function previewJob(id: string, operations: CronOperations, principal: Principal, count: number) {
  const job = await operations.get(principal, id);
  const next = operations.upcoming(job, count);
  return { data: { next, schedule: job.spec.schedule }, text: instantLines(next, job.spec.schedule.timezone) };
}

/** `mortise cron <name>`. */
export function cronCommand(facts: CommandFacts, row: CommandRow, operations: CronOperations): Command {
  return {
    ...facts,
    isRead: () => row.reads === true,
    async run(input, { principal }) {
      const result = await row.act(input, operations, principal);
      if (typeof result === 'object') return { exitCode: 0, ...result };
      const example = facts.examples?.at(-1);
      return wrongUsage(facts, result && example ? `${result} For example: ${example}` : result);
    },
  };
}
