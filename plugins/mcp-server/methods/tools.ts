import type { ClientSide } from '../client-side.js';
import { interactive } from '../interaction.js';
import type { Method, MethodCall, MethodResult } from '../method.js';
import { argumentsOf, namedTool, runTool, taskArguments, timeLimit } from '../tools/call.js';
import type { ListedTool } from '../tools/listing.js';
import { refusedArguments } from '../tools/refused-arguments.js';
import { callResultText } from '../tools/tool-result.js';
import { declaresTasks, missingCapability } from '../wire/capabilities.js';
import { offsetOf } from '../wire/cursor.js';
import { type JsonObject, membersText } from '../wire/json.js';
import { tasksExtension } from '../wire/names.js';
import { checkParameterHeaders } from '../wire/parameter-headers.js';
import { listCaching } from './caching.js';

export const listTools: Method = {
  eras: ['session', 'stateless'],
  async run(call) {
    const { server, version, caller, params } = call;
    const members = await server.listing.pageText(version, caller.principal, (length) => offsetOf(params, length));
    return { members: `${members}${listCaching(call, 300_000)}` };
  },
};

export const callTool: Method = {
  eras: ['session', 'stateless'],
  async run(call) {
    const { server, params, caller } = call;
    const tool = await namedTool(server, params, caller);
    const args = argumentsOf(params, tool.name);
    if (call.era === 'stateless') checkParameterHeaders(tool.schema().parameterHeaders, args, call.headers);
    const run = runsAsTask(call, tool) ? startTask : answer;
    const { log } = server.host;
    try {
      return await interactive(call, { name: tool.name, arguments: args }, (client) => run(call, tool, args, client));
    } catch (error) {
      const refused = call.era === 'stateless' ? refusedArguments(error, log, caller.correlationId) : undefined;
      if (refused === undefined) throw error;
      return { members: callResultText(refused, call.version) };
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
  return { resultType: 'task', members: membersText(await server.tasks.start(call, tool, prepared)) };
}

/** @throws RpcFailure when the tool only runs as a task and the client cannot follow one. */
function runsAsTask(call: MethodCall, tool: ListedTool): boolean {
  const { task } = tool.facts;
  if (task !== 'allowed' && task !== 'required') return false;
  if (call.era === 'stateless' && declaresTasks(call.capabilities ?? {})) return true;
  if (task === 'required') throw missingCapability(['extensions', tasksExtension]);
  return false;
}
