import type { ToolContext, Transaction } from 'mortise/sdk';
import type { Args, Result, ToolParts } from './parts.js';

/** The code of one tool. What it throws with an answered code becomes `ok: false`. */
export type ToolCode =
  | {
      readonly kind: 'reads';
      run(args: Args, ctx: ToolContext, parts: ToolParts): Promise<Result>;
    }
  | {
      readonly kind: 'changes';
      /** What the audit row is about, from the arguments or from the result. */
      target(args: Args, result: Result | undefined): string;
      /** What needs no transaction: files. Its result is given to `record`. */
      prepare?(args: Args, ctx: ToolContext, parts: ToolParts): Promise<unknown>;
      /** Changes rows. The audit row is added to the same transaction. */
      record(args: Args, prepared: unknown, parts: ToolParts, trx: Transaction): Promise<Result>;
    };
