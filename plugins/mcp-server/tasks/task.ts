import { type Database, isJsonObject, type JsonObject, type TransactionOption } from 'mortise/sdk';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A tool call that continues after its request was answered. */
export interface Task {
  readonly id: string;
  readonly principal: string;
  readonly tool: string;
  readonly status: TaskStatus;
  readonly statusMessage: string | undefined;
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
  /** Open questions to the client, by key. */
  readonly inputRequests: JsonObject;
  /** Answers, by the key of their question. */
  readonly inputResponses: JsonObject;
  readonly cancelRequested: boolean;
  /** Id of the process that runs it. */
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
}

/** Milliseconds from the start of a task until it is deleted, and between two polls of a client. */
export const taskTtlMs = 3_600_000;
const pollIntervalMs = 1_000;

export function hasEnded(task: Task): boolean {
  return task.status !== 'working' && task.status !== 'input_required';
}

/** A task as clients see it. @param created true in the response to the call that created it, which has no outcome */
export function taskView(task: Task, created = false): JsonObject {
  return {
    taskId: task.id,
    status: task.status,
    ...(task.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    ttlMs: taskTtlMs,
    pollIntervalMs,
    ...(!created && task.status === 'input_required' && { inputRequests: task.inputRequests }),
    ...(!created && task.status === 'completed' && { result: task.result }),
    ...(!created && task.status === 'failed' && { error: task.error }),
  };
}

interface TaskRow {
  readonly id: string;
  readonly principal: string;
  readonly tool: string;
  readonly status: TaskStatus;
  readonly status_message: string | null;
  readonly result_text: string | null;
  readonly error_text: string | null;
  readonly input_requests: string;
  readonly input_responses: string;
  readonly cancel_requested: unknown;
  readonly owner: string;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expires_at: number;
}

function taskOf({ codec }: Database, row: TaskRow): Task {
  const json = (text: string | null): JsonObject | undefined => {
    const value = text === null ? undefined : codec.parseJson(text);
    return isJsonObject(value) ? value : undefined;
  };
  return {
    id: row.id,
    principal: row.principal,
    tool: row.tool,
    status: row.status,
    statusMessage: row.status_message ?? undefined,
    result: json(row.result_text),
    error: json(row.error_text),
    inputRequests: json(row.input_requests) ?? {},
    inputResponses: json(row.input_responses) ?? {},
    cancelRequested: codec.parseFlag(row.cancel_requested),
    owner: row.owner,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
    expiresAt: Number(row.expires_at),
  };
}

const openStatuses: readonly TaskStatus[] = ['working', 'input_required'];

function tasks(database: Database, options?: TransactionOption) {
  return database.query(options)(database.table('logbook.mcp_tasks'));
}

export async function insertTask(database: Database, task: Task, correlationId: string): Promise<void> {
  await tasks(database).insert({
    id: task.id,
    principal: task.principal,
    tool: task.tool,
    status: task.status,
    owner: task.owner,
    correlation_id: correlationId,
    created_at: task.createdAt,
    updated_at: task.updatedAt,
    expires_at: task.expiresAt,
  });
}

export async function findTask(database: Database, id: string): Promise<Task | undefined> {
  const row: TaskRow | undefined = await tasks(database).where({ id }).first();
  return row && taskOf(database, row);
}

export async function findOpenTasks(database: Database): Promise<readonly Task[]> {
  const rows: readonly TaskRow[] = await tasks(database).whereIn('status', openStatuses);
  return rows.map((row) => taskOf(database, row));
}

/** How a task ended. */
export interface TaskEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly message?: string;
  /** JSON. */
  readonly result?: string;
  readonly error?: string;
}

/** Ends an open task; false when it had ended before. */
export async function endTask(database: Database, id: string, end: TaskEnd, now: number): Promise<boolean> {
  const changes = await tasks(database)
    .where({ id })
    .whereIn('status', openStatuses)
    .update({
      status: end.status,
      status_message: end.message ?? null,
      result_text: end.result ?? null,
      error_text: end.error ?? null,
      input_requests: database.codec.json({}),
      updated_at: now,
    });
  return changes > 0;
}

export async function requestCancel(database: Database, id: string, now: number): Promise<void> {
  await tasks(database).where({ id }).update({ cancel_requested: true, updated_at: now });
}

/**
 * Changes the questions and answers of an open task in one transaction; its status becomes `input_required` while a
 * question is open. Undefined when the task is unknown or has ended.
 */
export function changeInput(
  database: Database,
  id: string,
  change: (task: Task) => { readonly requests: JsonObject; readonly responses: JsonObject },
  now: number,
): Promise<Task | undefined> {
  return database.transaction(async (trx) => {
    const row: TaskRow | undefined = await tasks(database, { trx })
      .where({ id })
      .whereIn('status', openStatuses)
      .forUpdate()
      .first();
    if (!row) return undefined;
    const task = taskOf(database, row);
    const { requests, responses } = change(task);
    const status: TaskStatus = Object.keys(requests).length > 0 ? 'input_required' : 'working';
    await tasks(database, { trx })
      .where({ id })
      .update({
        status,
        input_requests: database.codec.json(requests),
        input_responses: database.codec.json(responses),
        updated_at: now,
      });
    return { ...task, status, inputRequests: requests, inputResponses: responses, updatedAt: now };
  });
}

export async function deleteExpiredTasks(database: Database, now: number): Promise<void> {
  await tasks(database).where('expires_at', '<=', now).delete();
}
