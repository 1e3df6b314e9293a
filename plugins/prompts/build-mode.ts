import { type Logger, type PromptLayer, promptLayer } from 'mortise/sdk';
import { type PromptFile, type PromptFiles, unusable } from './prompt-files.js';
import { renderTemplate } from './template.js';

/** One layer of a mode, and the source of its text. */
export interface LayerPlan {
  readonly name: string;
  /** The first of these files that exists. */
  readonly paths: readonly string[];
  /** A missing or blank text ends the turn; `or-shipped`: the shipped text replaces a missing one. */
  readonly required: 'no' | 'yes' | 'or-shipped';
  /** The text is a template. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** A layer whose text is read from a file, or one that is made at run time; undefined for none. */
export type PlannedLayer = LayerPlan | PromptLayer | undefined;

/** Builds the layers of a plan. Problems of optional layers are logged once. */
export class LayerBuilder {
  readonly #files: PromptFiles;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #reported = new Set<string>();

  constructor(files: PromptFiles, log: Pick<Logger, 'warn'>) {
    this.#files = files;
    this.#log = log;
  }

  /** @throws prompt_text_unusable when a required text is missing, blank or unreadable */
  async build(plan: readonly PlannedLayer[]): Promise<readonly PromptLayer[]> {
    const layers = await Promise.all(
      plan.map((planned) => (planned === undefined || 'content' in planned ? planned : this.#layer(planned))),
    );
    return layers.filter((layer) => layer !== undefined);
  }

  async #layer(plan: LayerPlan): Promise<PromptLayer | undefined> {
    try {
      return await this.#read(plan);
    } catch (error) {
      if (plan.required !== 'no') throw error;
      this.#warnOnce(plan.name, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  async #read(plan: LayerPlan): Promise<PromptLayer> {
    const { name, paths, variables } = plan;
    const file = await this.#find(plan);
    if (!file) throw unusable(paths[0] ?? name, 'is missing');
    if (file.text.trim() === '') throw unusable(file.source, 'is blank');
    return promptLayer(name, file.source, variables ? renderTemplate(file.text, variables) : file.text);
  }

  async #find({ paths, required }: LayerPlan): Promise<PromptFile | undefined> {
    const found = await this.#files.find(paths);
    if (found || required !== 'or-shipped') return found;
    for (const path of paths) {
      const shipped = await this.#files.shipped(path);
      if (shipped) return shipped;
    }
    return undefined;
  }

  #warnOnce(layer: string, reason: string): void {
    const key = `${layer}: ${reason}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#log.warn({ layer, reason }, 'an optional prompt layer was left out');
  }
}
