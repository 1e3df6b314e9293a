import {
  type CallContext,
  type Command,
  type CommandFacts,
  isJsonObject,
  MortiseError,
  type Route,
  wrongUsage,
} from 'mortise/sdk';
import { keyOf } from './definition.js';
import type { Pins } from './pins.js';
import type { ServerTools } from './server-tools.js';

export interface AcceptDeps {
  readonly pins: Pins;
  readonly servers: readonly ServerTools[];
}

/** All tools that servers have offered, and whether agents have them now. */
async function listed({ pins, servers }: AcceptDeps) {
  const keys = new Set(servers.flatMap((server) => server.keys));
  const tools = (await pins.list()).map(({ server, tool, state, acceptedSha256, offeredSha256, offered }) => {
    const key = keyOf(server, tool) ?? null;
    const available = key !== null && keys.has(key);
    return {
      server,
      tool,
      key,
      state,
      available,
      accepted_sha256: acceptedSha256,
      offered_sha256: offeredSha256,
      offered,
    };
  });
  const states = servers.map(({ name, state, reason }) => ({
    name,
    state,
    ...(reason === undefined ? {} : { reason }),
  }));
  return { servers: states, tools };
}

async function accept(
  { pins, servers }: AcceptDeps,
  server: string,
  tool: string,
  sha256: string | undefined,
  ctx: CallContext,
) {
  const accepted = await pins.accept(server, tool, sha256, ctx);
  await servers.find(({ name }) => name === server)?.refresh();
  return { accepted: true, server, tool, sha256: accepted.acceptedSha256 };
}

/** `GET /mcp-tools` */
export function listRoute(deps: AcceptDeps): Route {
  return { handle: async () => ({ body: await listed(deps) }) };
}

/** `POST /mcp-tools/accept` */
export function acceptRoute(deps: AcceptDeps): Route {
  return {
    async handle({ body }, ctx) {
      const { server, tool, sha256 } = isJsonObject(body) ? body : {};
      const isText = typeof server === 'string' && typeof tool === 'string';
      if (!isText || (sha256 !== undefined && typeof sha256 !== 'string')) {
        throw new MortiseError('invalid_request', 'server and tool are required', { status: 400 });
      }
      return { body: await accept(deps, server, tool, sha256, ctx) };
    },
  };
}

/** `mortise mcp list` */
export function listCommand(facts: CommandFacts, deps: AcceptDeps): Command {
  return {
    ...facts,
    isRead: () => true,
    async run({ args }) {
      if (args.length > 0) return wrongUsage(facts);
      const data = await listed(deps);
      const servers = data.servers.map(
        ({ name, state, reason }) => `${name}: ${state}${reason === undefined ? '' : ` (${reason})`}`,
      );
      const tools = data.tools.map(
        (one) =>
          `  ${one.state === 'changed' ? 'changed ' : 'accepted'} ${one.available ? 'available' : 'withheld '} ${one.server} ${one.tool}`,
      );
      const text = [...servers, ...tools].join('\n') || 'No MCP server is configured.';
      return { exitCode: data.tools.some(({ state }) => state === 'changed') ? 1 : 0, data, text };
    },
  };
}

/** `mortise mcp accept <server> <tool>` */
export function acceptCommand(facts: CommandFacts, deps: AcceptDeps): Command {
  return {
    ...facts,
    async run({ args: [server, tool, ...more] }, ctx) {
      if (!server || !tool || more.length > 0) return wrongUsage(facts);
      const data = await accept(deps, server, tool, undefined, ctx);
      return { exitCode: 0, data, text: `Accepted ${server} ${tool} (${data.sha256.slice(0, 12)}).` };
    },
  };
}
