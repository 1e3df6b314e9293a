import type { EnvelopeName } from './envelopes.js';
import type { RefusalName } from './refusal-rows.js';

/** Which bodies a mount takes, by content type. */
export type ContentTypeRule =
  /** `application/json` for every body that is not empty. */
  | 'json'
  /** JSON or `*+json`, required wherever the method has a body, even an empty one. */
  | 'strict-json'
  /** JSON, `*+json` or none; anything else only from callers that are no browser page (no Origin). */
  | 'lenient-json'
  /** `multipart/form-data`. */
  | 'multipart';

export type CorsRule =
  /** Headers for listed origins only. */
  | 'listed'
  /** The same open headers on every response. */
  | 'open'
  | 'none';

/** How the host treats the requests of a family of routes before their plugin sees them. */
export interface Mount {
  readonly name: string;
  readonly envelope: EnvelopeName;
  /** Envelope of bodies that are not UTF-8 text, where it is another one. */
  readonly parseEnvelope?: EnvelopeName;
  /** Largest body, bytes; named in the refusal. */
  readonly maxBytes: number;
  /** Bytes accepted beyond `maxBytes`, for framing that is not content. */
  readonly framingBytes: number;
  readonly maxDepth: number;
  readonly contentTypes: ContentTypeRule;
  readonly cors: CorsRule;
  /** `parsed`: `body` is the JSON value; `text`: the decoded text; `bytes`: only `rawBody`. */
  readonly body: 'parsed' | 'text' | 'bytes';
  /** POST, PUT and PATCH must carry a JSON value. */
  readonly needsBody: boolean;
  /** Unknown paths below it are answered in its envelope. */
  readonly prefix?: string;
  /** The answer to a malformed percent-escape. */
  readonly badEscape: RefusalName;
}

const mebibyte = 1024 * 1024;

/** Size of the largest request on `/mcp`, which must hold one evidence upload in base64: 4 to 20 MiB. */
export function mcpMaxBytes(evidenceMaxBytes: number): number {
  return Math.min(20 * mebibyte, Math.max(4 * mebibyte, Math.ceil(1.5 * evidenceMaxBytes) + 64 * 1024));
}

/** The table of mounts. A manifest names one per route. */
export function createMounts(mcpBytes: number = mcpMaxBytes(mebibyte)): ReadonlyMap<string, Mount> {
  const agent: Mount = {
    name: 'agent',
    envelope: 'agent',
    maxBytes: 4 * mebibyte,
    framingBytes: 0,
    maxDepth: 64,
    contentTypes: 'json',
    cors: 'listed',
    body: 'parsed',
    needsBody: false,
    badEscape: 'bad_target',
  };
  const memoryRest: Mount = {
    ...agent,
    name: 'memory-rest',
    envelope: 'memory-rest',
    maxDepth: 100,
    contentTypes: 'strict-json',
    cors: 'none',
    needsBody: true,
  };
  const rows: readonly Mount[] = [
    agent,
    { ...agent, name: 'files', badEscape: 'bad_file_path' },
    {
      ...agent,
      name: 'upload',
      maxBytes: 20 * mebibyte,
      framingBytes: 64 * 1024,
      contentTypes: 'multipart',
      body: 'bytes',
    },
    memoryRest,
    {
      ...memoryRest,
      name: 'mcp',
      parseEnvelope: 'json-rpc',
      maxBytes: mcpBytes,
      contentTypes: 'lenient-json',
      cors: 'open',
      body: 'text',
      needsBody: false,
      prefix: '/mcp',
    },
    { ...agent, name: 'anthropic', envelope: 'anthropic', maxBytes: 32 * mebibyte, prefix: '/v1' },
  ];
  return new Map(rows.map((mount) => [mount.name, mount]));
}

/** Names a manifest may give for `mount`. */
export const mountNames: readonly string[] = [...createMounts().keys()];

/** The mount of a path that no route matches. */
export function mountOfPath(mounts: ReadonlyMap<string, Mount>, path: string, fallback: Mount): Mount {
  for (const mount of mounts.values()) {
    if (mount.prefix !== undefined && (path === mount.prefix || path.startsWith(`${mount.prefix}/`))) return mount;
  }
  return fallback;
}
