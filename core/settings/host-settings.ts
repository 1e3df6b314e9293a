import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { MortiseError } from '../sdk/index.js';
import { isSensitiveName } from '../sdk/mask.js';
import type { ComputedConfig } from './compute.js';
import type { ConfiguredPrincipal, DatabaseSettings, HostSettings, RateLimit } from './types.js';

/** `config/mortise.json` after validation, with defaults filled in. */
interface HostFile {
  readonly project_key: string;
  readonly data_dir: string;
  readonly workspace_dir?: string;
  readonly locale: HostSettings['locale'];
  readonly secret_key?: string;
  readonly shutdown_seconds: number;
  readonly settings_poll_ms: number;
  readonly allow_private_urls: boolean;
  readonly plugins: { readonly file: string; readonly dir?: string };
  readonly log: HostSettings['log'];
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly api_key?: string;
    readonly api_keys?: readonly PrincipalEntry[];
    readonly admin_key?: string;
    readonly allowed_hosts: readonly string[];
    readonly allowed_origins: readonly string[];
    readonly rate_limit?: string;
    readonly tool_rate_limits: Readonly<Record<string, string>>;
    readonly trust_proxy: boolean;
    readonly sse_keepalive_seconds: number;
    readonly read_header_timeout_seconds: number;
    readonly read_timeout_seconds: number;
    readonly write_timeout_seconds: number;
    readonly idle_timeout_seconds: number;
  };
  readonly database: {
    readonly url?: string;
    readonly host?: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly name: string;
    readonly schema: string;
    readonly pool_max: number;
    readonly answer_timeout_ms: number;
    readonly file?: string;
  };
}

interface PrincipalEntry extends Readonly<Record<string, unknown>> {
  readonly key: string;
  readonly id: string;
  readonly actor?: string;
  readonly admin?: boolean;
  readonly spaces?: readonly string[];
}

interface HostFolders {
  readonly projectDir: string;
  readonly configDir: string;
  readonly cwd: string;
  readonly version: string;
}

function decodeKey(text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  return Buffer.from(text, /^[0-9a-fA-F]{64}$/.test(text) ? 'hex' : 'base64');
}

function parseRate(text: string): RateLimit {
  const [requests = 0, seconds = 1] = text.split('/').map(Number);
  return { requests, seconds };
}

/** The nearest folder from `cwd` upwards that is a git working tree, else `cwd`. */
function defaultWorkspace(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return cwd;
  }
}

function principal(entry: PrincipalEntry): ConfiguredPrincipal {
  const { key, id, actor, admin, spaces, ...claims } = entry;
  return {
    key,
    id,
    ...(actor === undefined ? {} : { actor }),
    ...(admin === undefined ? {} : { admin }),
    ...(spaces === undefined ? {} : { spaces }),
    claims,
  };
}

function repeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index);
}

/** Ids that the host itself uses: a caller without a key, with the one key of the server, and the platform. */
const OWN_PRINCIPALS = ['local', 'default', 'system'];

function principals(file: HostFile): readonly ConfiguredPrincipal[] {
  const found = (file.http.api_keys ?? []).map(principal);
  const id = repeated(found.map((entry) => entry.id));
  const key = repeated([
    ...found.map((entry) => entry.key),
    ...(file.http.api_key === undefined ? [] : [file.http.api_key]),
  ]);
  if (id !== undefined || key !== undefined) {
    const what = id === undefined ? 'the same key twice' : `the principal "${id}" twice`;
    throw new MortiseError('invalid_settings', `MORTISE_API_KEYS (http.api_keys) has ${what}: each needs its own.`);
  }
  const own = found.find((entry) => OWN_PRINCIPALS.includes(entry.id));
  if (own !== undefined) {
    const what = `a principal "${own.id}", which is the host's own word`;
    throw new MortiseError('invalid_settings', `MORTISE_API_KEYS (http.api_keys) has ${what}: choose another id.`);
  }
  return found;
}

function database(file: HostFile, dataDir: string, place: (name: string, path: string) => string): DatabaseSettings {
  const { url, host, port, user, password, name, schema, pool_max: poolMax } = file.database;
  const shared = { schema, poolMax, answerTimeoutMs: file.database.answer_timeout_ms };
  if (url !== undefined) return { dialect: 'postgres', connection: url, ...shared };
  if (host !== undefined) {
    return { dialect: 'postgres', connection: { host, port, user, password, database: name }, ...shared };
  }
  const path = file.database.file;
  return {
    dialect: 'sqlite',
    file: path === undefined ? join(dataDir, 'mortise.db') : place('database.file', path),
    schema,
    poolMax,
  };
}

/**
 * The host's settings in the form the code uses: absolute paths, parsed limits, decoded keys. A relative path is resolved
 * from the working directory when a variable gave it, else from the project's folder.
 * @throws MortiseError `invalid_settings`.
 */
export function toHostSettings(computed: ComputedConfig, folders: HostFolders): HostSettings {
  // The schema has checked each member and filled in each default.
  const file = computed.config as unknown as HostFile;
  const { projectDir, cwd } = folders;

  function place(name: string, path: string): string {
    const fromVariable = computed.provenance.some(
      (entry) => entry.source === 'environment' && entry.path.join('.') === name,
    );
    return resolve(fromVariable ? cwd : projectDir, path);
  }

  const dataDir = place('data_dir', file.data_dir);
  const { http } = file;
  return Object.freeze<HostSettings>({
    projectDir,
    configDir: folders.configDir,
    dataDir,
    workspaceDir: file.workspace_dir === undefined ? defaultWorkspace(cwd) : place('workspace_dir', file.workspace_dir),
    shippedPluginsDir: join(projectDir, 'plugins'),
    pluginsDir: file.plugins.dir === undefined ? join(dataDir, 'plugins') : place('plugins.dir', file.plugins.dir),
    pluginsFile: place('plugins.file', file.plugins.file),
    projectKey: file.project_key,
    version: folders.version,
    locale: file.locale,
    http: {
      host: http.host.replace(/^\[(.*)\]$/, '$1'),
      port: http.port,
      apiKey: http.api_key?.trim(),
      principals: principals(file),
      adminKey: http.admin_key?.trim(),
      allowedHosts: http.allowed_hosts,
      allowedOrigins: http.allowed_origins,
      rateLimit: http.rate_limit === undefined ? undefined : parseRate(http.rate_limit),
      toolRateLimits: Object.fromEntries(
        Object.entries(http.tool_rate_limits).map(([tool, rate]) => [tool, parseRate(rate)]),
      ),
      trustProxy: http.trust_proxy,
      timeouts: {
        readHeader: http.read_header_timeout_seconds,
        read: http.read_timeout_seconds,
        write: http.write_timeout_seconds,
        idle: http.idle_timeout_seconds,
      },
    },
    database: database(file, dataDir, place),
    log: file.log,
    sseKeepAliveSeconds: http.sse_keepalive_seconds,
    shutdownSeconds: file.shutdown_seconds,
    secretKey: decodeKey(file.secret_key),
    allowPrivateUrls: file.allow_private_urls,
    pollMs: file.settings_poll_ms,
  });
}

/** The password inside a DSN is a secret of its own: a driver's message may show it alone. */
export function secretsOfHost(settings: HostSettings): readonly string[] {
  if (settings.database.dialect !== 'postgres' || typeof settings.database.connection !== 'string') return [];
  try {
    const url = new URL(settings.database.connection);
    const inQuery = [...url.searchParams].filter(([name]) => isSensitiveName(name)).map(([, value]) => value);
    return [url.password, decodeURIComponent(url.password), ...inQuery].filter((text) => text !== '');
  } catch {
    return [];
  }
}
