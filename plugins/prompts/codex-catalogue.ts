import { createHash } from 'node:crypto';
import { isJsonObject, type Logger, type PromptLayer, promptLayer } from 'mortise/sdk';
import { instructionsLayer } from './codex-mode.js';
import { layerHash } from './layer-hash.js';
import type { PromptFiles } from './prompt-files.js';
import { renderTemplate } from './template.js';

const cataloguePath = 'prompts/codex/models.runtime.json';
const defaultSlug = 'gpt-5.2-codex';

/**
 * The model instructions in the catalogue for a model, else for the default one.
 * @returns undefined when the catalogue has neither
 * @throws Error when the catalogue is not valid
 */
export async function catalogueInstructions(
  files: PromptFiles,
  model: string | undefined,
): Promise<PromptLayer | undefined> {
  const file = await files.find([cataloguePath]);
  if (!file) return undefined;
  const entries: unknown = JSON.parse(file.text);
  if (!Array.isArray(entries)) throw new Error(`${cataloguePath} is not a list`);
  for (const slug of [model?.toLowerCase(), defaultSlug]) {
    const entry = entries.filter(isJsonObject).find((one) => one.slug === slug);
    if (entry) return promptLayer(instructionsLayer, `${cataloguePath}#${slug}`, textOf(entry));
  }
  return undefined;
}

function textOf({ base_instructions: base, model_messages: messages }: Readonly<Record<string, unknown>>): string {
  if (isJsonObject(messages) && typeof messages.instructions_template === 'string') {
    const variables = isJsonObject(messages.instructions_variables) ? messages.instructions_variables : {};
    const personality = variables.personality_pragmatic;
    return renderTemplate(messages.instructions_template, {
      personality: typeof personality === 'string' ? personality : undefined,
    });
  }
  if (typeof base !== 'string' || base.trim() === '')
    throw new Error(`${cataloguePath} has an entry without instructions`);
  return base;
}

interface Comparison {
  readonly sessionId: string | undefined;
  readonly model: string | undefined;
  readonly fromFile: PromptLayer | undefined;
}

/** Logs a difference between the instructions of the file and those of the catalogue; never changes a prompt. */
export async function compareWithCatalogue(
  files: PromptFiles,
  { sessionId, model, fromFile }: Comparison,
  log: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  try {
    const catalogue = await catalogueInstructions(files, model);
    const [fileHash, catalogueHash] = [fromFile, catalogue].map((layer) => (layer ? bodyHash(layer) : ''));
    if (fileHash === catalogueHash) return;
    log.info(
      {
        code: 'codex_prompt_shadow_diff',
        session_id:
          sessionId === undefined ? undefined : createHash('sha256').update(sessionId).digest('hex').slice(0, 12),
        model_slug: model,
        file_hash: fileHash,
        catalog_hash: catalogueHash,
        diff_reason: !fileHash ? 'file_missing' : catalogueHash ? 'content' : 'catalog_missing',
      },
      'codex_prompt_shadow_diff',
    );
  } catch (error) {
    log.warn(
      { reason: error instanceof Error ? error.message : String(error) },
      'the catalogue of prompts cannot be compared',
    );
  }
}

function bodyHash({ content }: PromptLayer): string {
  return layerHash(content.replace(/^## [^\n]*\n?/, ''));
}
