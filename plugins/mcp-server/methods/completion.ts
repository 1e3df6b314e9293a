import { type Contribution, callOptions } from 'mortise/sdk';
import type { Method } from '../method.js';
import { RpcFailure } from '../wire/failure.js';
import { isObject, type JsonObject, member, membersText } from '../wire/json.js';

/** Suggestions of one answer. */
const mostValues = 100;

export const complete: Method = {
  eras: ['session', 'stateless'],
  needs: 'completions',
  async run({ server, params, caller }) {
    const ref = objectOf(params, 'ref');
    const argument = objectOf(params, 'argument');
    const name = member(argument, 'name');
    const value = member(argument, 'value');
    if (typeof name !== 'string' || typeof value !== 'string') {
      throw new RpcFailure('INVALID_PARAM_TYPE', 'Parameter "argument" needs the strings "name" and "value".', {
        details: { path: '/argument' },
      });
    }
    const offer = server.host.points.list('mcp-completion').find((one) => one.active && isFor(one, ref));
    const values = offer ? await suggestions(offer.key) : [];
    return {
      members: membersText({
        completion: {
          values: values.slice(0, mostValues),
          total: values.length,
          hasMore: values.length > mostValues,
        },
      }),
    };

    function suggestions(key: string): Promise<readonly string[]> {
      const context = resolvedArguments(params);
      return server.host.points.call(
        'mcp-completion',
        key,
        (completion, ctx) => completion.complete({ name: name as string, value: value as string, ...context }, ctx),
        callOptions(caller),
      );
    }
  },
};

function isFor({ facts }: Contribution<'mcp-completion'>, ref: JsonObject): boolean {
  const { type, name, uri } = facts.ref;
  if (type !== member(ref, 'type')) return false;
  return type === 'ref/prompt' ? name === member(ref, 'name') : uri === member(ref, 'uri');
}

function resolvedArguments(params: JsonObject): { readonly context?: Readonly<Record<string, string>> } {
  const context = member(params, 'context');
  const args = isObject(context) ? member(context, 'arguments') : undefined;
  if (!isObject(args)) return {};
  const texts = Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { context: Object.fromEntries(texts) };
}

function objectOf(params: JsonObject, name: string): JsonObject {
  const value = member(params, name);
  if (isObject(value)) return value;
  throw new RpcFailure(
    value === undefined ? 'MISSING_REQUIRED_PARAM' : 'INVALID_PARAM_TYPE',
    `Parameter "${name}" must be an object.`,
    { details: { path: `/${name}` } },
  );
}
