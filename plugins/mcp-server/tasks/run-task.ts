import { MortiseError } from 'mortise/sdk';
import { failureOf } from '../failure-of.js';
import { keyed } from '../input-rounds.js';
import type { MethodCall } from '../method.js';
import { runTool } from '../tools/call.js';
import type { ListedTool } from '../tools/listing.js';
import { callResultText } from '../tools/tool-result.js';
import { capabilityFor, demand } from '../wire/capabilities.js';
import { errorObject, RpcFailure } from '../wire/failure.js';
import { type JsonObject, objectText } from '../wire/json.js';
import { taskTtlMs } from './task.js';

export interface TaskEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly message?: string;
  readonly result?: string;
  readonly error?: string;
}

/** A task of this process. */
export interface RunningTask {
  /** Never rejects. */
  readonly end: Promise<TaskEnd>;
  cancel(): void;
  /** Answers a question that is open here; any other key is ignored. */
  answer(key: string, response: JsonObject): void;
  /** Ends it as failed, because the endpoint stops. */
  stop(why: string): Promise<TaskEnd>;
}

/** @param publish writes a question where the client will find it. */
export function runTask(
  call: MethodCall,
  tool: ListedTool,
  args: JsonObject,
  publish: (key: string, request: JsonObject) => Promise<void>,
): RunningTask {
  const controller = new AbortController();
  const waiting = new Map<string, (response: JsonObject) => void>();
  let stopped: string | undefined;
  let asked = 0;

  const ask = async (question: JsonObject): Promise<JsonObject> => {
    const { key, request } = keyed(question, ++asked);
    demand(call.capabilities ?? {}, capabilityFor(request));
    const response = new Promise<JsonObject>((resolve, reject) => {
      waiting.set(key, resolve);
      controller.signal.addEventListener(
        'abort',
        () => reject(new MortiseError('call_aborted', 'The task was cancelled.')),
        {
          once: true,
        },
      );
    });
    // A task that is cancelled while its question is written must not end as an unhandled rejection.
    response.catch(() => {});
    await publish(key, request);
    try {
      return await response;
    } finally {
      waiting.delete(key);
    }
  };
  const run = async (): Promise<TaskEnd> => {
    try {
      const answer = await runTool(call.server, {
        tool,
        args,
        caller: { ...call.caller, signal: controller.signal },
        client: { capabilities: call.capabilities, ask },
        timeoutMs: tool.facts.timeoutSeconds === undefined ? taskTtlMs : tool.facts.timeoutSeconds * 1_000,
      });
      const meta = Object.keys(answer.meta).length > 0 ? `"_meta":${JSON.stringify(answer.meta)}` : '';
      return { status: 'completed', result: objectText(callResultText(answer, call.version), meta) };
    } catch (error) {
      if (stopped === undefined && controller.signal.aborted) return { status: 'cancelled' };
      const failure =
        stopped === undefined
          ? failureOf(error, call.server.host.log, call.caller.correlationId)
          : new RpcFailure('INTERNAL_ERROR', stopped);
      const object = errorObject(failure, 'stateless', call.caller.correlationId);
      return { status: 'failed', message: String(object.message), error: JSON.stringify(object) };
    }
  };
  const end = run();
  return {
    end,
    cancel: () => controller.abort(),
    answer: (key, response) => waiting.get(key)?.(response),
    stop(why) {
      stopped = why;
      controller.abort();
      return end;
    },
  };
}
