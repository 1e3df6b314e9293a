export interface MediaType {
  /** `text/plain`, lower case. */
  readonly essence: string;
  /** It has the parameter `base64`, as in a data URI. */
  readonly isBase64: boolean;
}

const ESSENCE = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** A media type with its parameters; undefined for what is none. */
export function parseMediaType(text: string): MediaType | undefined {
  const [first = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return ESSENCE.test(first) ? { essence: first, isBase64: parameters.includes('base64') } : undefined;
}

const extensions: Readonly<Record<string, string>> = {
  'text/plain': '.txt',
  'text/markdown': '.md',
  'text/x-diff': '.diff',
  'text/x-patch': '.patch',
  'application/json': '.json',
  'application/xml': '.xml',
  'text/xml': '.xml',
  'text/html': '.html',
  'text/csv': '.csv',
  'text/yaml': '.yaml',
  'application/x-yaml': '.yaml',
};

/** The extension of a file of that type. */
export function extensionOf(essence: string): string {
  return extensions[essence] ?? '.bin';
}
