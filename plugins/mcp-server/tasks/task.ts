import { type Database, isJsonObject, type JsonObject } from 'mortise/sdk';

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

export async function insertTask(database: Database, task: Task, correlationId: string): Promise<void> {
  await database.statement(
    `insert into {logbook.mcp_tasks}
       (id, principal, tool, status, owner, correlation_id, created_at, updated_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      task.id,
      task.principal,
      task.tool,
      task.status,
      task.owner,
      correlationId,
      task.createdAt,
      task.updatedAt,
      task.expiresAt,
    ],
  );
}

export async function findTask(database: Database, id: string): Promise<Task | undefined> {
  const { rows } = await database.statement<TaskRow>('select * from {logbook.mcp_tasks} where id = ?', [id]);
  return rows[0] && taskOf(database, rows[0]);
}

export async function findOpenTasks(database: Database): Promise<readonly Task[]> {
  const { rows } = await database.statement<TaskRow>(
    `select * from {logbook.mcp_tasks} where status in ('working', 'input_required')`,
  );
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
  const { changes } = await database.statement(
    `update {logbook.mcp_tasks}
        set status = ?, status_message = ?, result_text = ?, error_text = ?, input_requests = '{}', updated_at = ?
      where id = ? and status in ('working', 'input_required')`,
    [end.status, end.message ?? null, end.result ?? null, end.error ?? null, now, id],
  );
  return changes > 0;
}

export async function requestCancel(database: Database, id: string, now: number): Promise<void> {
  await database.statement('update {logbook.mcp_tasks} set cancel_requested = ?, updated_at = ? where id = ?', [
    true,
    now,
    id,
  ]);
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
    const lock = database.dialect === 'postgres' ? ' for update' : '';
    const { rows } = await database.statement<TaskRow>(
      `select * from {logbook.mcp_tasks} where id = ? and status in ('working', 'input_required')${lock}`,
      [id],
      { trx },
    );
    if (!rows[0]) return undefined;
    const task = taskOf(database, rows[0]);
    const { requests, responses } = change(task);
    const status: TaskStatus = Object.keys(requests).length > 0 ? 'input_required' : 'working';
    await database.statement(
      `update {logbook.mcp_tasks}
          set status = ?, input_requests = ?, input_responses = ?, updated_at = ? where id = ?`,
      [status, database.codec.json(requests), database.codec.json(responses), now, id],
      { trx },
    );
    return { ...task, status, inputRequests: requests, inputResponses: responses, updatedAt: now };
  });
}

export async function deleteExpiredTasks(database: Database, now: number): Promise<void> {
  await database.statement('delete from {logbook.mcp_tasks} where expires_at <= ?', [now]);
}
