import {
  activeByKey,
  type CallContext,
  type CallOptions,
  type CronNodeContext,
  type CronNodeFacts,
  type CronNodeProblem,
  type CronNodeResult,
  type CronTurnRequest,
  callOptions,
  createContributionCache,
  extendContext,
  type JsonObject,
  type Points,
  type SchemasService,
  type ValueSchema,
} from 'mortise/sdk';
import { templateProblem } from './templates.js';

/** Time limit of one offline check, milliseconds. */
const validateMs = 100;
/** Time limit of one check that may ask others, milliseconds. */
const checkMs = 2_000;

/** The node types that plugins contribute now. */
export interface NodeTypes {
  /** @returns undefined for an unknown type */
  facts(type: string): CronNodeFacts | undefined;
  /** Schema, templates and the type's own check. */
  problem(type: string, params: JsonObject): Promise<CronNodeProblem | undefined>;
  /** The type's own check of what the parameters name. */
  missing(
    type: string,
    params: JsonObject,
    checkTurn: (request: CronTurnRequest, ctx: CallContext) => Promise<void>,
    options: CallOptions,
  ): Promise<CronNodeProblem | undefined>;
  run(
    type: string,
    params: JsonObject,
    context: Omit<CronNodeContext, keyof CallOptions | 'log'>,
    options: CallOptions,
  ): Promise<CronNodeResult>;
}

export function nodeTypes(points: Points, schemas: SchemasService): NodeTypes {
  const types = createContributionCache(points, 'cron-node', (contributions) => {
    const compiled = new Map<string, ValueSchema>();
    return {
      active: activeByKey(contributions),
      schemaOf(type: string, facts: CronNodeFacts): ValueSchema {
        const schema = compiled.get(type) ?? schemas.compile(facts.paramsSchema, { name: `node ${type}` });
        compiled.set(type, schema);
        return schema;
      },
    };
  });
  return {
    facts: (type) => types.current.active.get(type)?.facts,

    async problem(type, params) {
      const { active, schemaOf } = types.current;
      const found = active.get(type);
      if (!found) return { predicate: `has unsupported type="${type}"` };
      const { facts } = found;
      try {
        const [issue] = schemaOf(type, facts).check(params);
        if (issue) return `${issue.path.slice(1).replaceAll('/', '.') || 'parameters'} ${issue.message}`;
        const problem = facts.templates ? templateProblem(params) : undefined;
        if (problem !== undefined || !found.offers.includes('validate')) return problem;
        return await points.call('cron-node', type, (node) => node.validate?.(params), { timeoutMs: validateMs });
      } catch (error) {
        return problemOf(error);
      }
    },

    async missing(type, params, checkTurn, options) {
      if (!types.current.active.get(type)?.offers.includes('check')) return undefined;
      try {
        return await points.call(
          'cron-node',
          type,
          (node, call) =>
            node.check?.(
              params,
              extendContext(call, { checkTurn: (request: CronTurnRequest) => checkTurn(request, call) }),
            ),
          { ...callOptions(options), timeoutMs: checkMs },
        );
      } catch (error) {
        return problemOf(error);
      }
    },

    run: (type, params, context, options) =>
      points.call('cron-node', type, (node, call) => node.run(params, extendContext(call, context)), {
        ...callOptions(options),
        timeoutMs: 0,
      }),
  };
}

function problemOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'the check of its type failed';
}
