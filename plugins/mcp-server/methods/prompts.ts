import { callOptions, isJsonObject, type JsonObject } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';
import { interactive } from '../input-rounds.js';
import { cachingMembers, type Method } from '../method.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { membersText } from '../wire/message.js';
import { member, offsetOf, page, requiredText } from '../wire/params.js';

export const listPrompts: Method = {
  modes: ['session', 'stateless'],
  needs: 'prompts',
  run(call) {
    const prompts = call.server.host.points.list('mcp-prompt').filter(({ active }) => active);
    const { items, next } = page(prompts, offsetOf(call.params, prompts.length));
    const listed = items.map(({ key, facts }) => ({
      name: key,
      title: facts.title,
      description: facts.description,
      arguments: facts.arguments,
    }));
    return { members: `${membersText({ prompts: listed, nextCursor: next })}${cachingMembers(call, 0)}` };
  },
};

export const getPrompt: Method = {
  modes: ['session', 'stateless'],
  needs: 'prompts',
  run(call) {
    const { params, server, caller } = call;
    const name = requiredText(params, 'name');
    const contribution = server.host.points.list('mcp-prompt').find(({ key, active }) => active && key === name);
    if (!contribution) {
      throw new RpcFailure('INVALID_PARAM_VALUE', `There is no prompt "${shown(name)}".`, {
        details: { path: '/name', prompt: shown(name) },
      });
    }
    const args = textArguments(params);
    for (const argument of contribution.facts.arguments ?? []) {
      if (argument.required && !Object.hasOwn(args, argument.name)) {
        throw new RpcFailure('MISSING_REQUIRED_PARAM', `Prompt "${name}" needs the argument "${argument.name}".`, {
          details: { path: `/arguments/${argument.name}` },
        });
      }
    }
    return interactive(call, { name, arguments: args }, async (client) => {
      const result = await server.host.points.call(
        'mcp-prompt',
        name,
        (prompt, ctx) => prompt.get(args, new ClientContext(ctx, client)),
        callOptions(caller),
      );
      return { members: membersText(result) };
    });
  },
};

function textArguments(params: JsonObject): Readonly<Record<string, string>> {
  const args = member(params, 'arguments') ?? {};
  if (isJsonObject(args) && Object.values(args).every((value) => typeof value === 'string')) {
    return args as Readonly<Record<string, string>>;
  }
  throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "arguments" must be an object of strings.', {
    details: { path: '/arguments' },
  });
}
