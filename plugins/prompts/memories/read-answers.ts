import { isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';

/** The memories from one chat. */
interface Extract {
  readonly summary: string;
  /** Name of the summary's file, without its extension. */
  readonly slug: string;
  readonly memory: string;
}

/** The answer of the extracting call. @throws invalid_answer */
export function readExtract(answer: string, turnId: string): Extract {
  const { rollout_summary: summary, rollout_slug: slug, raw_memory: memory } = readObject(answer);
  return { summary: textOf(summary), slug: slugOf(slug) || turnId, memory: textOf(memory) };
}

/** The answer of the merging call. @throws invalid_answer */
export function readConsolidation(answer: string): { readonly memory: string; readonly summary: string } {
  const { memory_md: memory, memory_summary_md: summary } = readObject(answer);
  return { memory: textOf(memory), summary: textOf(summary) };
}

/** Models may put JSON into prose or a code block. */
function readObject(answer: string): JsonObject {
  try {
    const value: unknown = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below, without the text.
  }
  throw invalidAnswer();
}

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') throw invalidAnswer();
  return value.trim();
}

function slugOf(value: unknown): string {
  if (typeof value !== 'string') return '';
  const words = value.toLowerCase().split(/[^a-z0-9]+/);
  return words
    .filter((word) => word !== '')
    .join('-')
    .slice(0, 64)
    .replace(/-$/, '');
}

function invalidAnswer(): MortiseError {
  return new MortiseError('invalid_answer', 'the model did not answer with the requested JSON object');
}
