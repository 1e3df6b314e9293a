import type { CallContext } from '../context.js';
import type { ExtensionPointDeclaration } from './point.js';

export interface CronNodeFacts {
  readonly summary: string;
  /** JSON Schema of the node's parameters in a workflow. */
  readonly paramsSchema: Readonly<Record<string, unknown>>;
}

export interface CronNodeContext extends CallContext {
  readonly runId: string;
  readonly jobId: string;
  readonly nodeId: string;
  /** Results of the preceding nodes, by node id. */
  readonly results: Readonly<Record<string, unknown>>;
}

export interface CronNode extends CronNodeFacts {
  run(params: Readonly<Record<string, unknown>>, ctx: CronNodeContext): Promise<Readonly<Record<string, unknown>>>;
}

export const cronNodePoint: ExtensionPointDeclaration = {
  name: 'cron-node',
  summary: 'Steps of scheduled workflows; selected by the workflow.',
  dispatch: 'selected',
  watched: true,
  factsSchema: {
    type: 'object',
    required: ['summary', 'paramsSchema'],
    properties: { summary: { type: 'string', minLength: 1, maxLength: 400 }, paramsSchema: { type: 'object' } },
  },
  functions: ['run'],
  timeoutMs: 0,
  failure: 'the node fails; continue_on_error decides',
};
