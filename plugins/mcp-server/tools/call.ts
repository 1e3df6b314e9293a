import {
  callOptions,
  type Deadline,
  isCodedError,
  isJsonObject,
  type JsonObject,
  type PluginControl,
  type PluginRow,
  startDeadline,
  type Tool,
  type ToolContext,
} from 'mortise/sdk';
import { ClientContext, type ClientSide } from '../client-side.js';
import { ToolError } from '../failure-of.js';
import { InputRequired } from '../input-rounds.js';
import type { Caller } from '../method.js';
import type { McpServer } from '../server.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { member } from '../wire/params.js';
import type { ArgumentSchema } from './arguments.js';
import type { ListedTool } from './listing.js';
import { type ToolAnswer, toolAnswer } from './tool-result.js';

/** The tool that a call names, within the caller's rate limit. @throws RpcFailure, MortiseError `RATE_LIMITED` */
export async function namedTool(server: McpServer, params: JsonObject, caller: Caller): Promise<ListedTool> {
  const name = member(params, 'name');
  if (name === undefined) {
    throw new RpcFailure('MISSING_REQUIRED_PARAM', 'Parameter "name" is missing: it names the tool to call.', {
      details: { path: '/name' },
    });
  }
  if (typeof name !== 'string') {
    throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "name" must be a string.', { details: { path: '/name' } });
  }
  const tool = await server.listing.find(name, caller.principal);
  if (!tool) {
    throw new RpcFailure('UNKNOWN_TOOL', `There is no tool "${shown(name)}".`, { details: { tool: shown(name) } });
  }
  server.http.admitToolCall(tool.name, caller);
  return tool;
}

/** The arguments of a call; an empty object when absent. @throws RpcFailure */
export function argumentsOf(params: JsonObject, tool: string): JsonObject {
  const args = member(params, 'arguments');
  if (args === undefined) return {};
  if (isJsonObject(args)) return args;
  throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "arguments" must be an object.', {
    details: { tool, path: '/arguments', expected: 'object', errors: [] },
  });
}

interface ToolRun {
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

/**
 * Runs a tool, from its arguments to its serialised result, in one lease.
 * @throws RpcFailure, ToolError, InputRequired, or a coded error of the tool that stays a protocol error
 */
export function runTool(server: McpServer, run: ToolRun): Promise<ToolAnswer> {
  return leased(server, run, async (tool, { args, unknown }, ctx) =>
    toolAnswer(await tool.run(args, ctx), run.tool.facts, run.caller.correlationId, unknown),
  );
}

/**
 * The arguments of a task: checked before the task exists, while the client can correct its call, and completed with
 * what the tool asks its client before it starts. @throws as {@link runTool}
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
  let thrown: unknown;
  try {
    return await server.host.points.call(
      'tool',
      tool.name,
      async (value, ctx) => {
        const split = schema.split(value.normalise?.(args) ?? args);
        schema.check(split.args, value.explain?.bind(value));
        const context = new ClientContext(ctx, client, deadline);
        try {
          return await use(value, split, Object.assign(context, { caller: 'mcp' as const, commit: deadline.commit }));
        } catch (error) {
          thrown = error;
          throw error;
        }
      },
      { ...callOptions(caller), signal: deadline.signal, timeoutMs: 0 },
    );
  } catch (error) {
    const failure = toolFailure(server, tool, deadline, caller, error);
    throw (failure === thrown && isCodedError(thrown) && ToolError.from(thrown)) || failure;
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
    if (!caller.signal.aborted) return notRunning(server.host.use('plugins'), tool.name, tool.plugin);
    const why = server.http.draining ? 'The server is stopping.' : 'The request was cancelled.';
    return new RpcFailure('TOOL_EXECUTION_FAILED', why, { details: { cancelled: true } });
  }
  return error;
}

/** Logs an unexpected error with the tool and its plugin; the client does not see it. */
function unexpected(server: McpServer, { name, plugin }: ListedTool, caller: Caller, error: unknown): RpcFailure {
  const fields = { tool: name, tool_plugin: plugin, correlation_id: caller.correlationId, err: error };
  server.host.log.error(fields, 'A tool failed unexpectedly.');
  return new RpcFailure('UNHANDLED_EXCEPTION', `Internal error (${caller.correlationId})`, {
    details: { tool: shown(name), plugin },
  });
}

/** Why a listed tool cannot run: its plugin, or one that it requires, waits for the database or is not running. */
export function notRunning(plugins: PluginControl, tool: string, plugin: string): RpcFailure {
  const rows = new Map(plugins.list().map((row) => [row.key, row]));
  if (waitsForDatabase(rows, plugin, new Set())) {
    return new RpcFailure('LOGBOOK_DB_CHECK_FAILED', `Tool "${shown(tool)}" waits for the database.`, {
      details: { service: 'database', tool: shown(tool) },
    });
  }
  return new RpcFailure(
    'TOOL_EXECUTOR_NOT_REGISTERED',
    `Tool "${shown(tool)}" is listed, but its plugin is not running.`,
    {
      details: { tool: shown(tool), plugin },
    },
  );
}

function waitsForDatabase(rows: ReadonlyMap<string, PluginRow>, key: string, seen: Set<string>): boolean {
  const row = rows.get(key);
  if (!row || row.state === 'active' || seen.has(key)) return false;
  seen.add(key);
  if (row.code !== null && /database|migration|schema_newer/i.test(row.code)) return true;
  return row.requires.some((needed) => waitsForDatabase(rows, needed, seen));
}
