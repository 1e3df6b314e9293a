import type { EnvelopeTemplate, ManifestMount } from '../sdk/index.js';
import type { CorsRule, SettingLimit } from '../sdk/manifest.js';
import { compileEnvelope, compileIdTemplate, defaultEnvelope, type Envelope, type RequestIds } from './envelope.js';
import { type RefusalRow, refusalRows } from './refusals.js';

/** How the host handles the requests of a group of routes before their plugin is called. See `ManifestMount`. */
export interface Mount {
  readonly envelope: Envelope;
  /** Envelope of bodies that are not valid text or JSON. */
  readonly parseEnvelope: Envelope;
  /** Envelope of errors with status 503. */
  readonly unavailableEnvelope: Envelope;
  /** Largest body, bytes; named in the refusal. */
  readonly maxBytes: number;
  /** Bytes accepted beyond `maxBytes`, for framing that is not content. */
  readonly framingBytes: number;
  readonly maxDepth: number;
  readonly contentTypes: NonNullable<ManifestMount['contentTypes']>;
  readonly cors: CorsRule | undefined;
  readonly optionsBody: ((ids: RequestIds) => unknown) | undefined;
  readonly body: NonNullable<ManifestMount['body']>;
  readonly needsBody: boolean;
  readonly badEscape: RefusalRow;
}

/** Reads an effective setting of a plugin; undefined while the plugin is disabled or not installed. */
export type ReadSetting = (plugin: string, name: string) => unknown;

const mebibyte = 1024 * 1024;

/** The mount of routes that name none, and of paths that no route matches. */
export const defaultMount: Mount = {
  envelope: defaultEnvelope,
  parseEnvelope: defaultEnvelope,
  unavailableEnvelope: defaultEnvelope,
  maxBytes: 4 * mebibyte,
  framingBytes: 0,
  maxDepth: 64,
  contentTypes: 'json',
  cors: {
    origins: 'listed',
    methods: 'GET,POST,PUT,PATCH,DELETE,OPTIONS',
    headers:
      'Content-Type,Authorization,X-API-Key,X-Admin-Key,X-Request-Id,X-Correlation-ID,X-NextAI-Source,Idempotency-Key,Last-Event-ID',
    exposed:
      'X-Correlation-ID,X-Request-Id,X-Turn-Id,X-Next-Cursor,X-Trace-Id,X-Gate-Action,X-Idempotent-Replay,Retry-After',
  },
  optionsBody: undefined,
  body: 'parsed',
  needsBody: false,
  badEscape: refusalRows.bad_target,
};

/** The mounts that the manifests of all plugins declare, on or off. */
export class Mounts {
  readonly #compiled: ReadonlyMap<ManifestMount, Mount>;
  /** Longest first. */
  readonly prefixes: readonly { readonly prefix: string; readonly mount: Mount }[];

  constructor(declared: Iterable<ManifestMount>, setting: ReadSetting) {
    this.#compiled = new Map([...declared].map((mount) => [mount, compileMount(mount, setting)]));
    this.prefixes = [...this.#compiled]
      .flatMap(([{ prefix = [] }, mount]) => [prefix].flat().map((one) => ({ prefix: one, mount })))
      .sort((a, b) => b.prefix.length - a.prefix.length);
  }

  of(declared: ManifestMount | undefined): Mount {
    return (declared && this.#compiled.get(declared)) ?? defaultMount;
  }

  /** The mount of a path that no route matches. */
  ofPath(path: string): Mount {
    const found = this.prefixes.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));
    return found?.mount ?? defaultMount;
  }
}

function compileMount(declared: ManifestMount, setting: ReadSetting): Mount {
  const {
    envelope,
    parseEnvelope = envelope,
    unavailableEnvelope = envelope,
    maxBytes = defaultMount.maxBytes,
    badEscape,
    cors,
    optionsBody,
  } = declared;
  return {
    envelope: envelopeOf(envelope),
    parseEnvelope: envelopeOf(parseEnvelope),
    unavailableEnvelope: envelopeOf(unavailableEnvelope),
    maxBytes: typeof maxBytes === 'number' ? maxBytes : limitOf(maxBytes, setting),
    framingBytes: declared.framingBytes ?? defaultMount.framingBytes,
    maxDepth: declared.maxDepth ?? defaultMount.maxDepth,
    contentTypes: declared.contentTypes ?? defaultMount.contentTypes,
    cors: cors === 'none' ? undefined : (cors ?? defaultMount.cors),
    optionsBody: optionsBody === undefined ? undefined : compileIdTemplate(optionsBody),
    body: declared.body ?? defaultMount.body,
    needsBody: declared.needsBody ?? defaultMount.needsBody,
    badEscape: badEscape
      ? { code: badEscape.code, reason: badEscape.code.toUpperCase(), status: 400, sentence: badEscape.message }
      : defaultMount.badEscape,
  };
}

const envelopeOf = (template: EnvelopeTemplate | undefined): Envelope =>
  template === undefined ? defaultEnvelope : compileEnvelope(template);

function limitOf(limit: SettingLimit, setting: ReadSetting): number {
  const { factor = 1, add = 0, minimum, maximum } = limit;
  const value = setting(limit.plugin, limit.setting);
  if (typeof value !== 'number') return minimum;
  return Math.min(maximum, Math.max(minimum, Math.ceil(factor * value) + add));
}
