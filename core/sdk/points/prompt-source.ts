import type { CallContext } from '../context.js';

export interface PromptSourceFacts {
  readonly summary: string;
  /** Prompt modes it applies to; every mode when absent. */
  readonly modes?: readonly string[];
  /** Lower values first; ties are ordered by key. */
  readonly order: number;
  /** A failing required source ends the turn; an optional one is skipped with a warning. */
  readonly required: boolean;
}

export interface PromptRequest {
  readonly promptMode: string;
  readonly taskCommand?: string;
  readonly sessionId?: string;
  /** The user of the session. */
  readonly userId?: string;
  readonly userText?: string;
  readonly collaborationMode?: string;
  readonly modelSlug?: string;
  /** The chat's meta. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Names of the tools that the model is offered; absent where they are not known yet. */
  readonly tools?: readonly string[];
}

export interface PromptLayer {
  readonly name: string;
  readonly role: 'system';
  /** Displayed origin: a file below the workspace, or `runtime://…`. */
  readonly source: string;
  readonly content: string;
}

export interface PromptSource extends PromptSourceFacts {
  build(request: PromptRequest, ctx: CallContext): Promise<readonly PromptLayer[]>;
}

/** A layer whose content begins with a heading that names its source. */
export function promptLayer(name: string, source: string, text: string): PromptLayer {
  return { name, role: 'system', source, content: `## ${source}\n${text.trim()}` };
}
