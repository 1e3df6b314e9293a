import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';

/** The metadata of a document between `---` (YAML) or `+++` (TOML) lines at its start. */
export interface FrontMatter {
  /** Number of lines, including both delimiters; 0 without front matter. */
  readonly lines: number;
  readonly title?: string;
  readonly tags: readonly string[];
  readonly docType?: string;
  /** `updated` or `date`, epoch milliseconds. */
  readonly updated?: number;
  /** Why the lines between delimiters are not front matter. */
  readonly warning?: string;
}

const none: FrontMatter = { lines: 0, tags: [] };
const opening = /^(---|\+\+\+)[ \t]*(?:\r\n|\n|\r)/;
const firstKey = /^[A-Za-z_][\w-]*[ \t]*(?:=|:(?:[ \t]|$))/;

/** Longer blocks are content: the parsers are made for settings, not for documents. */
const maxLength = 65_536;
const maxTags = 100;

/** Reads the front matter of a document. Only a mapping is front matter; anything else remains content. */
export function readFrontMatter(text: string): FrontMatter {
  const fence = opening.exec(text)?.[1];
  if (fence === undefined) return none;
  const head = text.slice(0, maxLength).replace(/\r\n?/g, '\n').split('\n');
  const end = head.findIndex((line, index) => index > 0 && line.trimEnd() === fence);
  if (end < 0) {
    // Without a key it is a thematic break at the start of a document.
    if (!firstKey.test(head[1] ?? '')) return none;
    return { ...none, warning: 'The front matter is not closed; it is indexed as content.' };
  }
  // The empty first line makes the line numbers of the parser those of the file.
  const source = ['', ...head.slice(1, end)].join('\n');
  let value: unknown;
  try {
    value = fence === '---' ? parseYaml(source, { maxAliasCount: 20, logLevel: 'error' }) : parseToml(source);
  } catch (error) {
    const [why = ''] = (error instanceof Error ? error.message : '').split('\n');
    const reason = why.replace(/[:.\s]+$/, '');
    return { ...none, warning: `The front matter cannot be parsed (${reason}); it is indexed as content.` };
  }
  if (!isJsonObject(value) || value instanceof Date) {
    return { ...none, warning: 'The lines between the delimiters are not a mapping; they are indexed as content.' };
  }
  return { lines: end + 1, ...factsOf(value) };
}

function factsOf(value: JsonObject): Omit<FrontMatter, 'lines'> {
  const title = textOf(value.title);
  const docType = textOf(value.doc_type);
  const updated = timeOf(value.updated) ?? timeOf(value.date);
  return {
    tags: tagsOf(value.tags),
    ...(title === undefined ? {} : { title }),
    ...(docType === undefined ? {} : { docType: docType.toLowerCase() }),
    ...(updated === undefined ? {} : { updated }),
  };
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text === '' ? undefined : text.slice(0, 500);
}

function tagsOf(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  const tags = list.map(textOf).filter((tag) => tag !== undefined);
  return [...new Set(tags)].slice(0, maxTags);
}

function timeOf(value: unknown): number | undefined {
  if (!(value instanceof Date) && typeof value !== 'string') return undefined;
  const time = new Date(value).getTime();
  return Number.isFinite(time) ? time : undefined;
}
