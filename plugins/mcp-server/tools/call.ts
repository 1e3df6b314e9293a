import { callOptions, type Deadline, isCodedError, startDeadline, type Tool, type ToolContext } from 'mortise/sdk';
import { ClientContext, type ClientSide } from '../client-side.js';
import { InputRequired } from '../input-rounds.js';
import type { Caller } from '../method.js';
import type { McpServer } from '../server.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { isObject, type JsonObject, member } from '../wire/json.js';
import type { ArgumentSchema } from './arguments.js';
import { notRunning } from './executor.js';
import type { ListedTool } from './listing.js';
import { type ToolAnswer, toolAnswer } from './tool-result.js';

/** The tool that a call names, within the caller's rate limit. @throws RpcFailure, MortiseError `RATE_LIMITED` */
export async function namedTool(server: McpServer, params: JsonObject, caller: Caller): Promise<ListedTool> {
  const name = member(params, 'name');
  if (name === undefined) {
    throw new RpcFailure('MISSING_REQUIRED_PARAM', 'Parameter "name" is missing: it says which tool to call.', {
      details: { path: '/name' },
    });
  }
  if (typeof name !== 'string') {
    throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "name" must be a string.', { details: { path: '/name' } });
  }
  const tool = await server.listing.find(name, caller.principal);
  if (!tool)
    throw new RpcFailure('UNKNOWN_TOOL', `There is no tool "${shown(name)}".`, { details: { tool: shown(name) } });
  server.http.admitToolCall(tool.name, caller);
  return tool;
}

/** The arguments of a call; none is an empty object. @throws RpcFailure */
export function argumentsOf(params: JsonObject, tool: string): JsonObject {
  const args = member(params, 'arguments');
  if (args === undefined) return {};
  if (isObject(args)) return args;
  throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "arguments" must be an object.', {
    details: { tool, path: '/arguments', expected: 'object', errors: [] },
  });
}

export interface ToolRun {
  readonly tool: ListedTool;
  readonly args: JsonObject;
  readonly caller: Caller;
  readonly client: ClientSide;
  /** Milliseconds; 0 = none. */
  readonly timeoutMs: number;
}

/** Milliseconds a tool may take. */
export function timeLimit(server: McpServer, tool: ListedTool): number {
  return (tool.facts.timeoutSeconds ?? server.host.config.toolTimeoutSeconds) * 1_000;
}

/** Normalises, checks, runs and writes down: one lease of the tool's plugin. @throws RpcFailure, or whatever the tool throws. */
export function runTool(server: McpServer, run: ToolRun): Promise<ToolAnswer> {
  return leased(server, run, async (tool, { args, unknown }, ctx) =>
    toolAnswer(await tool.run(args, ctx), run.tool.facts, run.caller.correlationId, unknown),
  );
}

/**
 * The arguments that a task is to run with: checked now, while a client can correct its call, and completed by what the
 * tool asks its client before there is a task. @throws RpcFailure, InputRequired, or whatever the tool throws.
 */
export function taskArguments(server: McpServer, run: ToolRun): Promise<JsonObject> {
  return leased(server, run, async (tool, { args }, ctx) =>
    tool.beforeTask ? await tool.beforeTask(args, ctx) : run.args,
  );
}

async function leased<R>(
  server: McpServer,
  { tool, args, caller, client, timeoutMs }: ToolRun,
  use: (tool: Tool, args: ReturnType<ArgumentSchema['split']>, ctx: ToolContext) => R | Promise<R>,
): Promise<R> {
  if (!tool.active) throw notRunning(server.host.use('plugins'), tool.name, tool.plugin);
  const schema = tool.schema();
  const deadline = startDeadline(timeoutMs, caller.signal);
  try {
    return await server.host.points.call(
      'tool',
      tool.name,
      (value, ctx) => {
        const split = schema.split(value.normalise?.(args) ?? args);
        schema.check(split.args, value.explain?.bind(value));
        const own = new ClientContext(ctx, client, deadline);
        return use(value, split, Object.assign(own, { caller: 'mcp' as const, commit: deadline.commit }));
      },
      { ...callOptions(caller), signal: deadline.signal, timeoutMs: 0 },
    );
  } catch (error) {
    throw toolFailure(server, tool, deadline, caller, error);
  } finally {
    deadline.close();
  }
}

function toolFailure(server: McpServer, tool: ListedTool, deadline: Deadline, caller: Caller, error: unknown): unknown {
  if (error instanceof RpcFailure || error instanceof InputRequired) return error;
  if (deadline.expired) {
    return new RpcFailure('TOOL_TIMEOUT', `Tool "${shown(tool.name)}" did not answer in time.`, {
      details: { tool: shown(tool.name) },
    });
  }
  if (!isCodedError(error)) {
    const explained = server.storage.explain(error);
    return explained === error ? unexpected(server, tool, caller, error) : explained;
  }
  if (error.code === 'contribution_unknown') return notRunning(server.host.use('plugins'), tool.name, tool.plugin);
  if (error.code === 'call_aborted') {
    return caller.signal.aborted
      ? new RpcFailure('TOOL_EXECUTION_FAILED', 'The request was cancelled.', { details: { cancelled: true } })
      : notRunning(server.host.use('plugins'), tool.name, tool.plugin);
  }
  return error;
}

/** What a tool threw stays in the log, which names the tool and the plugin it belongs to. */
function unexpected(server: McpServer, { name, plugin }: ListedTool, caller: Caller, error: unknown): RpcFailure {
  const fields = { tool: name, tool_plugin: plugin, correlation_id: caller.correlationId, err: error };
  server.host.log.error(fields, 'a tool failed unexpectedly');
  return new RpcFailure('UNHANDLED_EXCEPTION', `Internal error (${caller.correlationId})`, {
    details: { tool: shown(name), plugin },
  });
}
