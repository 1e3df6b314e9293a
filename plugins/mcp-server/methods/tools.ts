import { isCodedError, type JsonObject } from 'mortise/sdk';
import type { ClientSide } from '../client-side.js';
import { failureOf, ToolError } from '../failure-of.js';
import { interactive } from '../input-rounds.js';
import { cachingMembers, type Method, type MethodCall, type MethodResult } from '../method.js';
import { runTask } from '../tasks/run-task.js';
import { ArgumentFailure } from '../tools/arguments.js';
import { argumentsOf, namedTool, runTool, taskArguments, timeLimit } from '../tools/call.js';
import type { ListedTool } from '../tools/listing.js';
import { callResultText, ownAnswer } from '../tools/tool-result.js';
import { declaresTasks, missingCapability, requireCapability, tasksCapability } from '../wire/capabilities.js';
import { errorObject } from '../wire/failure.js';
import { membersText } from '../wire/message.js';
import { inputResponses, member, offsetOf, requiredText } from '../wire/params.js';
import { checkParameterHeaders } from '../wire/stateless-headers.js';

export const listTools: Method = {
  modes: ['session', 'stateless'],
  async run(call) {
    const { server, version, caller, params } = call;
    const members = await server.listing.pageText(version, caller.principal, (length) => offsetOf(params, length));
    return { members: `${members}${cachingMembers(call, 300_000)}` };
  },
};

export const callTool: Method = {
  modes: ['session', 'stateless'],
  async run(call) {
    const { server, params, caller } = call;
    const tool = await namedTool(server, params, caller);
    const args = argumentsOf(params, tool.name);
    if (call.mode === 'stateless') checkParameterHeaders(tool.schema().parameterHeaders, args, call.headers);
    const run = runsAsTask(call, tool) ? startTask : answer;
    try {
      return await interactive(call, { name: tool.name, arguments: args }, (client) => run(call, tool, args, client));
    } catch (error) {
      if (error instanceof ToolError) {
        return { members: callResultText(ownAnswer(error.result(call.caller.correlationId)), call.version) };
      }
      if (call.mode === 'stateless' && isArgumentFailure(error)) return refusedArguments(call, error);
      throw error;
    }
  },
};

async function answer(
  { server, caller, version }: MethodCall,
  tool: ListedTool,
  args: JsonObject,
  client: ClientSide,
): Promise<MethodResult> {
  const result = await runTool(server, { tool, args, caller, client, timeoutMs: timeLimit(server, tool) });
  return { members: callResultText(result, version), meta: result.meta };
}

async function startTask(
  call: MethodCall,
  tool: ListedTool,
  args: JsonObject,
  client: ClientSide,
): Promise<MethodResult> {
  const { server, caller } = call;
  const timeoutMs = server.host.config.toolTimeoutSeconds * 1_000;
  const prepared = await taskArguments(server, { tool, args, caller, client, timeoutMs });
  const task = await server.tasks.start({
    principal: caller.principal.id,
    correlationId: caller.correlationId,
    tool: tool.name,
    run: (publish) => runTask(call, tool, prepared, publish),
  });
  return { resultType: 'task', members: membersText(task) };
}

/** @throws RpcFailure when the tool only runs as a task and the client does not support tasks. */
function runsAsTask(call: MethodCall, tool: ListedTool): boolean {
  const { task } = tool.facts;
  if (task !== 'allowed' && task !== 'required') return false;
  if (call.mode === 'stateless' && declaresTasks(call.capabilities)) return true;
  if (task === 'required') throw missingCapability(tasksCapability);
  return false;
}

/** Codes by which a tool refuses arguments that its schema allows. */
const argumentCodes: ReadonlySet<string> = new Set([
  'MISSING_REQUIRED_PARAM',
  'INVALID_PARAM_TYPE',
  'INVALID_PARAM_VALUE',
]);

function isArgumentFailure(error: unknown): boolean {
  return error instanceof ArgumentFailure || (isCodedError(error) && argumentCodes.has(error.code));
}

/**
 * Refused arguments as a tool result: the stateless revision reserves protocol errors for calls that the model cannot
 * correct (SEP-1303). It contains everything that the JSON-RPC error of earlier revisions does.
 */
function refusedArguments({ server, caller, version }: MethodCall, error: unknown): MethodResult {
  const failure = failureOf(error, server.host.log, caller.correlationId);
  const { code, message, data } = errorObject(failure, 'stateless', caller.correlationId);
  return { members: callResultText(ownAnswer({ ok: false, code, message, ...(data as JsonObject) }), version) };
}

function taskMethod(run: (call: MethodCall, taskId: string) => Promise<MethodResult>): Method {
  return {
    modes: ['stateless'],
    needs: 'tasks',
    run(call) {
      requireCapability(call.capabilities, tasksCapability);
      return run(call, requiredText(call.params, 'taskId'));
    },
  };
}

const acknowledged: MethodResult = { members: '' };

export const getTask = taskMethod(async ({ server, caller }, taskId) => ({
  members: membersText(await server.tasks.get(taskId, caller.principal.id)),
}));

export const updateTask = taskMethod(async ({ server, caller, params }, taskId) => {
  const responses = inputResponses(member(params, 'inputResponses'));
  await server.tasks.answer(taskId, caller.principal.id, responses);
  return acknowledged;
});

export const cancelTask = taskMethod(async ({ server, caller }, taskId) => {
  await server.tasks.cancel(taskId, caller.principal.id);
  return acknowledged;
});
