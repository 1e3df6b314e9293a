import { callOptions } from 'mortise/sdk';
import { ClientContext } from '../client-side.js';
import { interactive } from '../interaction.js';
import type { Method } from '../method.js';
import { offsetOf, page } from '../wire/cursor.js';
import { RpcFailure, shown } from '../wire/failure.js';
import { isObject, type JsonObject, member, membersText } from '../wire/json.js';
import { listCaching } from './caching.js';

export const listPrompts: Method = {
  eras: ['session', 'stateless'],
  needs: 'prompts',
  run(call) {
    const offers = call.server.host.points.list('mcp-prompt').filter(({ active }) => active);
    const { items, next } = page(offers, offsetOf(call.params, offers.length));
    const prompts = items.map(({ key, facts }) => ({
      name: key,
      title: facts.title,
      description: facts.description,
      arguments: facts.arguments,
    }));
    return { members: `${membersText({ prompts, nextCursor: next })}${listCaching(call, 0)}` };
  },
};

export const getPrompt: Method = {
  eras: ['session', 'stateless'],
  needs: 'prompts',
  run(call) {
    const { params, server, caller } = call;
    const name = requiredText(params, 'name');
    const offer = server.host.points.list('mcp-prompt').find(({ key, active }) => active && key === name);
    if (!offer) {
      throw new RpcFailure('INVALID_PARAM_VALUE', `There is no prompt "${shown(name)}".`, {
        details: { path: '/name', prompt: shown(name) },
      });
    }
    const args = textArguments(params);
    for (const argument of offer.facts.arguments ?? []) {
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

/** @throws RpcFailure */
export function requiredText(params: JsonObject, name: string): string {
  const value = member(params, name);
  if (typeof value === 'string') return value;
  const missing = value === undefined;
  throw new RpcFailure(
    missing ? 'MISSING_REQUIRED_PARAM' : 'INVALID_PARAM_TYPE',
    missing ? `Parameter "${name}" is missing.` : `Parameter "${name}" must be a string.`,
    { details: { path: `/${name}` } },
  );
}

function textArguments(params: JsonObject): Readonly<Record<string, string>> {
  const args = member(params, 'arguments') ?? {};
  if (isObject(args) && Object.values(args).every((value) => typeof value === 'string')) {
    return args as Readonly<Record<string, string>>;
  }
  throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "arguments" must be an object of strings.', {
    details: { path: '/arguments' },
  });
}
