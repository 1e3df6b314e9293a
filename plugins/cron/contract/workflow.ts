import type { JsonObject } from 'mortise/sdk';

/** A node with the parameters of its type: `text`, `delay_seconds`, `if_condition` or those of a plugin. */
export interface WorkflowNode {
  readonly id: string;
  readonly type: string;
  readonly title?: string;
  readonly x: number;
  readonly y: number;
  readonly continue_on_error?: boolean;
  readonly [param: string]: unknown;
}

export interface WorkflowEdge {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  /** The outcome of a condition that takes this edge. */
  readonly branch?: string;
}

export interface CronWorkflow {
  readonly version: string;
  readonly viewport?: { readonly pan_x: number; readonly pan_y: number; readonly zoom: number };
  readonly nodes: readonly WorkflowNode[];
  readonly edges: readonly WorkflowEdge[];
}

/** The outcome of a node. */
export interface NodeExecution {
  readonly node_id: string;
  readonly node_type: string;
  readonly status: 'running' | 'succeeded' | 'failed' | 'skipped';
  readonly continue_on_error: boolean;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly error?: string;
  /** At most 500 code points; `true` or `false` of a condition. */
  readonly result?: string;
  /** Parameters after their templates were rendered; at most 4 KiB of JSON. */
  readonly input?: JsonObject;
  /** For templates of later nodes; at most 64 KiB of JSON. */
  readonly output?: JsonObject;
}

export interface WorkflowExecution {
  readonly run_id: string;
  readonly started_at: string;
  readonly finished_at?: string;
  readonly had_failures: boolean;
  /** Executed nodes in order, then skipped ones. */
  readonly nodes: readonly NodeExecution[];
}
