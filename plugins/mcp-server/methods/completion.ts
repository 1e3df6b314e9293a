import { type Contribution, callOptions, isJsonObject, type JsonObject } from 'mortise/sdk';
import type { Method } from '../method.js';
import { RpcFailure } from '../wire/failure.js';
import { membersText } from '../wire/message.js';
import { member, requiredObject } from '../wire/params.js';

/** Suggestions in one response. */
const maxValues = 100;

export const complete: Method = {
  modes: ['session', 'stateless'],
  needs: 'completions',
  async run({ server, params, caller }) {
    const ref = requiredObject(params, 'ref');
    const argument = requiredObject(params, 'argument');
    const name = member(argument, 'name');
    const value = member(argument, 'value');
    if (typeof name !== 'string' || typeof value !== 'string') {
      throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "argument" needs the strings "name" and "value".', {
        details: { path: '/argument' },
      });
    }
    const found = server.host.points.list('mcp-completion').find((one) => one.active && isFor(one, ref));
    const values = found
      ? await server.host.points.call(
          'mcp-completion',
          found.key,
          (completion, ctx) => completion.complete({ name, value, ...resolvedArguments(params) }, ctx),
          callOptions(caller),
        )
      : [];
    return {
      members: membersText({
        completion: {
          values: values.slice(0, maxValues),
          total: values.length,
          hasMore: values.length > maxValues,
        },
      }),
    };
  },
};

function isFor({ facts }: Contribution<'mcp-completion'>, ref: JsonObject): boolean {
  const { type, name, uri } = facts.ref;
  if (type !== member(ref, 'type')) return false;
  return type === 'ref/prompt' ? name === member(ref, 'name') : uri === member(ref, 'uri');
}

function resolvedArguments(params: JsonObject): { readonly context?: Readonly<Record<string, string>> } {
  const context = member(params, 'context');
  const args = isJsonObject(context) ? member(context, 'arguments') : undefined;
  if (!isJsonObject(args)) return {};
  const texts = Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { context: Object.fromEntries(texts) };
}
