import { sessionNameLimits, violatedNameRule } from 'mortise/contracts/sessions';
import { isBlankText, isJsonObject, isUnstorableJson, type JsonObject } from 'mortise/sdk';
import type { CronDispatch, CronJobSpec, CronRuntime, CronSchedule } from './contract/index.js';
import { type CronErrorCode, cronError } from './errors.js';
import { readFlag, readInteger, readObject, readText } from './read-members.js';
import { readSchedule, slotsOf } from './schedule/schedule.js';
import { readWorkflow } from './workflow/read-workflow.js';

export const defaultJobId = 'cron-default';

const maxIdBytes = 128;
const maxNameLength = 256;
const maxTextLength = 200_000;

/**
 * Reads and normalises the body of a job. The nodes of a workflow are not checked yet: that needs their types.
 *
 * @param now epoch milliseconds
 * @throws MortiseError `invalid_json`, `invalid_cron_task_type`, `invalid_cron_workflow`, `invalid_cron_schedule`,
 *   `invalid_request`
 */
export function readJobSpec(body: unknown, now: number): CronJobSpec {
  if (!isJsonObject(body) || isUnstorableJson(JSON.stringify(body))) throw cronError('invalid_json');
  const [id, name] = [readText(body, 'id').trim(), readText(body, 'name').trim()];
  const read = {
    enabled: readFlag(body, 'enabled'),
    schedule: readScheduleSpec(readObject(body, 'schedule') ?? {}),
    dispatch: readDispatch(readObject(body, 'dispatch') ?? {}),
    runtime: readRuntime(readObject(body, 'runtime') ?? {}),
    request: readObject(body, 'request'),
    meta: readObject(body, 'meta') ?? {},
  };
  checkNames(id, name);
  const task = readTask(body);
  checkSchedule(read.schedule, now);
  checkRuntime(read.runtime);
  checkTarget(read.dispatch.target);
  const { enabled, schedule, dispatch, runtime, request } = read;
  return {
    id,
    name,
    enabled,
    schedule,
    ...task,
    ...(request === undefined ? {} : { request }),
    dispatch,
    runtime,
    meta: id === defaultJobId ? { ...read.meta, system_default: true } : read.meta,
  };
}

function checkNames(id: string, name: string): void {
  const refuse = (message: string) => cronError('invalid_cron_task_type', { message });
  if (id === '' || name === '') throw refuse('id and name are required');
  if (Buffer.byteLength(id) > maxIdBytes) throw refuse(`id must have at most ${maxIdBytes} bytes`);
  for (const [member, value] of [
    ['id', id],
    ['name', name],
  ] as const) {
    const rule = violatedNameRule(value, maxNameLength);
    if (rule !== undefined) throw refuse(`${member} ${rule}`);
  }
}

/** The task: a text, or a workflow; the member of the other kind is removed. */
function readTask(body: JsonObject): Pick<CronJobSpec, 'task_type' | 'text' | 'workflow'> {
  const text = readText(body, 'text');
  const workflow = readWorkflow(body.workflow);
  const type = readText(body, 'task_type').trim().toLowerCase() || (workflow ? 'workflow' : 'text');
  if (type === 'workflow') {
    if (!workflow) throw cronError('invalid_cron_workflow', { message: 'workflow is required for task_type=workflow' });
    return { task_type: type, workflow };
  }
  const refuse = (message: string) => cronError('invalid_cron_task_type', { message });
  if (type !== 'text') throw refuse(`unsupported task_type="${type}"`);
  if (isBlankText(text)) throw refuse('text is required for task_type=text');
  if (text.length > maxTextLength) throw refuse(`text must have at most ${maxTextLength} characters`);
  return { task_type: type, text };
}

function readScheduleSpec(schedule: JsonObject): CronSchedule {
  const gap = readText(schedule, 'dst_gap');
  const overlap = readText(schedule, 'dst_overlap');
  return {
    type: (readText(schedule, 'type').trim().toLowerCase() || 'interval') as CronSchedule['type'],
    cron: readText(schedule, 'cron').trim(),
    timezone: readText(schedule, 'timezone').trim() || 'UTC',
    ...(gap === '' ? {} : { dst_gap: gap as NonNullable<CronSchedule['dst_gap']> }),
    ...(overlap === '' ? {} : { dst_overlap: overlap as NonNullable<CronSchedule['dst_overlap']> }),
  };
}

/** The body of a preview: a schedule alone. @throws as {@link readJobSpec} */
export function readScheduleBody(body: JsonObject, now: number): CronSchedule {
  const schedule = readScheduleSpec(readObject(body, 'schedule') ?? {});
  checkSchedule(schedule, now);
  return schedule;
}

function checkSchedule(schedule: CronSchedule, now: number): void {
  oneOf('schedule.type', schedule.type, ['interval', 'cron']);
  oneOf('schedule.dst_gap', schedule.dst_gap, ['skip', 'shift']);
  oneOf('schedule.dst_overlap', schedule.dst_overlap, ['auto', 'first', 'both']);
  slotsOf(readSchedule(schedule), now).next(now);
}

function oneOf(member: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw cronError('invalid_cron_schedule', {
    message: `unsupported ${member}="${value}"`,
    hint: `Supported are: ${known.join(', ')}.`,
  });
}

function readDispatch(dispatch: JsonObject): CronDispatch {
  const target = readObject(dispatch, 'target') ?? {};
  return {
    type: readText(dispatch, 'type'),
    channel: readText(dispatch, 'channel').trim().toLowerCase() || 'console',
    target: { user_id: readText(target, 'user_id'), session_id: readText(target, 'session_id') },
    mode: readText(dispatch, 'mode'),
    meta: readObject(dispatch, 'meta') ?? {},
  };
}

function checkTarget({ user_id, session_id }: CronDispatch['target']): void {
  const check = (code: CronErrorCode, member: string, value: string, limit: number): void => {
    const rule = violatedNameRule(value, limit);
    if (rule !== undefined) throw cronError(code, { message: `dispatch.target.${member} ${rule}` });
  };
  check('invalid_request', 'user_id', user_id, sessionNameLimits.userId);
  check('invalid_request', 'session_id', session_id, sessionNameLimits.sessionId);
}

/** Members that are omitted when they are not set. */
const ownTexts = ['misfire_policy', 'overlap_policy', 'on_interrupt'] as const;
const ownNumbers = ['misfire_window_seconds', 'max_attempts', 'retry_backoff_seconds'] as const;

function readRuntime(runtime: JsonObject): CronRuntime {
  const texts = ownTexts.flatMap((member) => {
    const value = readText(runtime, member);
    return value === '' ? [] : [[member, value]];
  });
  const numbers = ownNumbers.flatMap((member) =>
    runtime[member] === undefined || runtime[member] === null ? [] : [[member, readInteger(runtime, member)]],
  );
  return {
    max_concurrency: readInteger(runtime, 'max_concurrency'),
    timeout_seconds: readInteger(runtime, 'timeout_seconds'),
    misfire_grace_seconds: readInteger(runtime, 'misfire_grace_seconds'),
    ...Object.fromEntries([...texts, ...numbers]),
  };
}

function checkRuntime(runtime: CronRuntime): void {
  oneOf('runtime.misfire_policy', runtime.misfire_policy, ['run_once', 'skip', 'run_all']);
  oneOf('runtime.overlap_policy', runtime.overlap_policy, ['reject', 'queue']);
  oneOf('runtime.on_interrupt', runtime.on_interrupt, ['safe', 'retry', 'fail']);
  const ranges = [
    ['misfire_window_seconds', 0, 10 * 366 * 86_400],
    ['max_attempts', 1, 10],
    ['retry_backoff_seconds', 0, 3_600],
  ] as const;
  for (const [member, least, most] of ranges) {
    const value = runtime[member];
    if (value === undefined || (value >= least && value <= most)) continue;
    throw cronError('invalid_cron_schedule', {
      message: `unsupported runtime.${member}="${value}"`,
      hint: `Use a whole number from ${least} to ${most}.`,
    });
  }
}

/** Limits of a job's runs as they take effect. */
export interface EffectiveRuntime {
  readonly maxConcurrency: number;
  readonly timeoutSeconds: number;
  readonly graceMs: number;
  readonly windowMs: number;
  readonly misfirePolicy: NonNullable<CronRuntime['misfire_policy']>;
  readonly overlapPolicy: NonNullable<CronRuntime['overlap_policy']>;
  readonly onInterrupt: NonNullable<CronRuntime['on_interrupt']>;
  readonly maxAttempts: number;
  readonly backoffSeconds: number;
}

const maxLeases = 1_000;
const maxTimeoutSeconds = 7 * 86_400;

export function effectiveRuntime(runtime: CronRuntime): EffectiveRuntime {
  const { max_concurrency: leases, timeout_seconds: timeout, misfire_grace_seconds: grace } = runtime;
  return {
    maxConcurrency: leases > 0 ? Math.min(leases, maxLeases) : 1,
    timeoutSeconds: timeout > 0 ? Math.min(timeout, maxTimeoutSeconds) : 30,
    graceMs: Math.max(0, grace) * 1_000,
    windowMs: (runtime.misfire_window_seconds ?? 0) * 1_000,
    misfirePolicy: runtime.misfire_policy ?? 'run_once',
    overlapPolicy: runtime.misfire_policy === 'run_all' ? 'queue' : (runtime.overlap_policy ?? 'reject'),
    onInterrupt: runtime.on_interrupt ?? 'safe',
    maxAttempts: runtime.max_attempts ?? 1,
    backoffSeconds: runtime.retry_backoff_seconds ?? 10,
  };
}
