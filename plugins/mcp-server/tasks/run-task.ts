import { type JsonObject, MortiseError } from 'mortise/sdk';
import { keyed } from '../client-answers.js';
import { failureOf, ToolError } from '../failure-of.js';
import type { MethodCall } from '../method.js';
import { runTool } from '../tools/call.js';
import type { ListedTool } from '../tools/listing.js';
import { callResultText, ownAnswer } from '../tools/tool-result.js';
import { capabilityFor, requireCapability } from '../wire/capabilities.js';
import { errorObject, RpcFailure } from '../wire/failure.js';
import { objectText } from '../wire/message.js';
import { type TaskEnd, taskTtlMs } from './task.js';
import type { PublishQuestion, RunningTask } from './tasks.js';

/** Runs a tool as a task. */
export function runTask(call: MethodCall, tool: ListedTool, args: JsonObject, publish: PublishQuestion): RunningTask {
  const { server, caller, capabilities, version } = call;
  const controller = new AbortController();
  const waiting = new Map<string, (response: JsonObject) => void>();
  let stopped: string | undefined;
  let asked = 0;

  const ask = async (question: JsonObject): Promise<JsonObject> => {
    const { key, request } = keyed(question, ++asked);
    requireCapability(capabilities, capabilityFor(request));
    const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
    const onAbort = () => reject(new MortiseError('call_aborted', 'The task was cancelled.'));
    waiting.set(key, resolve);
    controller.signal.addEventListener('abort', onAbort, { once: true });
    // A task that is cancelled while its question is being stored must not cause an unhandled rejection.
    promise.catch(() => {});
    await publish(key, request);
    try {
      return await promise;
    } finally {
      waiting.delete(key);
    }
  };
  const run = async (): Promise<TaskEnd> => {
    try {
      const answer = await runTool(server, {
        tool,
        args,
        caller: { ...caller, signal: controller.signal },
        client: { capabilities, ask },
        timeoutMs: tool.facts.timeoutSeconds === undefined ? taskTtlMs : tool.facts.timeoutSeconds * 1_000,
      });
      const meta = Object.keys(answer.meta).length > 0 ? `"_meta":${JSON.stringify(answer.meta)}` : '';
      return { status: 'completed', result: objectText(callResultText(answer, version), meta) };
    } catch (error) {
      if (stopped === undefined && controller.signal.aborted) return { status: 'cancelled' };
      if (stopped === undefined && error instanceof ToolError) {
        const result = objectText(callResultText(ownAnswer(error.result(caller.correlationId)), version));
        return { status: 'completed', result };
      }
      const failure =
        stopped === undefined
          ? failureOf(error, server.host.log, caller.correlationId)
          : new RpcFailure('INTERNAL_ERROR', stopped);
      const object = errorObject(failure, 'stateless', caller.correlationId);
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
