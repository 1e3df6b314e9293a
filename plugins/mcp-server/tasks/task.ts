import type { JsonObject } from '../wire/json.js';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** A tool call that outlives its request. */
export interface Task {
  readonly id: string;
  readonly principal: string;
  readonly tool: string;
  readonly status: TaskStatus;
  readonly statusMessage: string | undefined;
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
  /** Questions to the client that are not answered yet. */
  readonly inputRequests: JsonObject;
  /** Answers, by question. */
  readonly inputResponses: JsonObject;
  readonly cancelRequested: boolean;
  /** The process that runs it. */
  readonly owner: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number;
}

/** Milliseconds a task is kept after it began, and how often a client should look. */
export const taskTtlMs = 3_600_000;
export const pollIntervalMs = 1_000;

export function isOver(task: Task): boolean {
  return task.status !== 'working' && task.status !== 'input_required';
}

/** A task as clients see it. `seed`: the answer to the call that made it, without what only a later look shows. */
export function taskView(task: Task, seed = false): JsonObject {
  return {
    taskId: task.id,
    status: task.status,
    ...(task.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.updatedAt).toISOString(),
    ttlMs: taskTtlMs,
    pollIntervalMs,
    ...(!seed && task.status === 'input_required' && { inputRequests: task.inputRequests }),
    ...(!seed && task.status === 'completed' && { result: task.result }),
    ...(!seed && task.status === 'failed' && { error: task.error }),
  };
}
