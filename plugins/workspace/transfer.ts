import type { ExportedCronJob } from 'mortise/contracts/cron';
import { skillSpec } from 'mortise/contracts/skills';
import {
  type CallContext,
  type Database,
  describeValue,
  isCodedError,
  isJsonObject,
  type JsonObject,
  type Logger,
  MortiseError,
  type Transaction,
} from 'mortise/sdk';
import { workspaceError } from './errors.js';
import { channelConfigs, envValues, need, type Parts, readChannels, readEnvs, slotOf } from './parts.js';
import { isPlainPath, type TextFiles } from './text-files.js';
import { checkRight } from './workspace.js';

/** Everything that people have configured. A section whose plugin is not active is absent. */
interface WorkspaceExport {
  readonly version: 'v1';
  readonly skills?: Readonly<Record<string, unknown>>;
  readonly config: {
    readonly envs?: JsonObject;
    readonly channels?: JsonObject;
    readonly models?: { readonly providers: unknown; readonly active_llm: unknown };
  };
  readonly cron?: { readonly jobs: readonly ExportedCronJob[] };
  /** Texts of the workspace folder by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Paths of files that are blank, too large or not text, or did not fit; absent when there are none. */
  readonly omitted_files?: readonly string[];
}

interface TransferDeps {
  readonly parts: Parts;
  readonly texts: TextFiles;
}

/** UTF-8 bytes of texts, as JSON, that an export has: an import takes 32 MiB, and needs room for the settings. */
const maxTextBytes = 28 * 1_048_576;

export async function exportWorkspace(
  { parts, texts }: TransferDeps,
  isRevealed: boolean,
  ctx: CallContext,
): Promise<WorkspaceExport> {
  checkRight(ctx);
  const { envs, channels, models, skills, cron } = parts;
  const settings = await models?.read();
  return {
    version: 'v1',
    ...(skills ? { skills: Object.fromEntries(skills.list().map((skill) => [skill.name, skillSpec(skill)])) } : {}),
    config: {
      ...(envs ? { envs: envValues(envs, isRevealed) } : {}),
      ...(channels ? { channels: channelConfigs(channels, isRevealed) } : {}),
      ...(models && settings
        ? {
            models: {
              providers: (isRevealed ? settings : models.masked(settings)).providers,
              active_llm: slotOf(settings),
            },
          }
        : {}),
    },
    ...(cron ? { cron: { jobs: await cron.export(ctx, isRevealed) } } : {}),
    ...(await exportFiles(texts)),
  };
}

async function exportFiles(texts: TextFiles): Promise<Pick<WorkspaceExport, 'files' | 'omitted_files'>> {
  const files: Record<string, string> = {};
  const omitted: string[] = [];
  let bytes = 0;
  for (const { path } of await texts.list()) {
    try {
      const content = texts.parse(await texts.read(path));
      const size = Buffer.byteLength(JSON.stringify(content)) + Buffer.byteLength(path);
      if (bytes + size > maxTextBytes) omitted.push(path);
      else {
        files[path] = content;
        bytes += size;
      }
    } catch (error) {
      if (!isCodedError(error)) throw error;
      omitted.push(path);
    }
  }
  return { files, ...(omitted.length > 0 ? { omitted_files: omitted } : {}) };
}

type Write = (options: { readonly trx: Transaction }) => Promise<void>;

/**
 * Replaces the sections that a payload has, all of them or none: everything is checked before anything is written. Files
 * are written first, since they take long and a transaction keeps others waiting; when the settings cannot be stored they
 * get their old content back. Files that the payload does not name stay.
 *
 * @throws invalid_import_mode, invalid_import_version, invalid_json, invalid_path, and what the owner of a section refuses;
 *   the message begins with the place in the body
 */
export async function importWorkspace(
  { parts, texts, database, log }: TransferDeps & { readonly database: Database; readonly log: Logger },
  body: unknown,
  ctx: CallContext,
): Promise<void> {
  checkRight(ctx);
  const { mode, payload } = objectAt(body, 'the body');
  if (mode !== 'replace') throw workspaceError('invalid_import_mode');
  const document = objectAt(payload, 'payload');
  if (document.version !== 'v1') throw versionError(document.version);
  const config = objectAt(document.config ?? {}, 'payload.config');
  checkSections(document, config);

  const writes: Write[] = [];
  const refreshes: (() => Promise<unknown>)[] = [];
  const section = async (place: string, value: unknown, read: () => Promise<Write> | Write): Promise<void> => {
    if (value !== undefined) writes.push(await within(place, read));
  };
  await section('payload.skills', document.skills, () => {
    const skills = need(parts, 'skills');
    const read = Object.entries(objectAt(document.skills, 'it')).map(([name, given]) =>
      readSkill(name, given, skills.parse),
    );
    refreshes.push(() => skills.refresh());
    return (options) => skills.replaceAll(read, ctx, options);
  });
  await section('payload.config.envs', config.envs, () => {
    const envs = need(parts, 'envs');
    const values = readEnvs(envs, config.envs);
    refreshes.push(() => envs.refresh());
    return (options) => envs.replaceAll(values, ctx, options);
  });
  await section('payload.config.channels', config.channels, async () => {
    const channels = need(parts, 'channels');
    const configs = await readChannels(channels, config.channels, ctx);
    refreshes.push(() => channels.refresh());
    return (options) => channels.replaceAll(configs, ctx, options);
  });
  await section('payload.config.models', config.models, async () => {
    const models = need(parts, 'models');
    const { providers, active_llm: active } = objectAt(config.models, 'it');
    const documents = {
      ...(providers === undefined ? {} : { providers }),
      ...(active === undefined ? {} : { active }),
    };
    await models.check(documents);
    return (options) => models.replace(documents, ctx, options);
  });
  await section('payload.cron', document.cron, async () => {
    const cron = need(parts, 'cron');
    const { jobs } = objectAt(document.cron, 'it');
    if (!Array.isArray(jobs)) throw workspaceError('invalid_json', { message: 'jobs must be an array' });
    const read = await cron.parse(jobs, ctx);
    return (options) => cron.replaceAll(read, ctx, options);
  });
  const files = await within('payload.files', () => readFiles(document.files ?? {}, texts));
  const store = (): Promise<void> =>
    database.transaction(async (trx) => {
      for (const write of writes) await write({ trx });
    });
  await texts.write(files, { then: store, signal: ctx.signal });
  // Stored is stored: what fails here is read again with the next change.
  for (const { reason } of (await Promise.allSettled(refreshes.map((refresh) => refresh()))).filter(isRejected)) {
    log.warn({ err: reason }, 'Imported settings could not be read again.');
  }
}

function isRejected(result: PromiseSettledResult<unknown>): result is PromiseRejectedResult {
  return result.status === 'rejected';
}

const sectionNames = ['skills', 'config', 'cron', 'files'];
const configNames = ['envs', 'channels', 'models'];

/** Refuses a payload that has members but no section that is known: it would import nothing. @throws invalid_json */
function checkSections(document: JsonObject, config: JsonObject): void {
  const { version: _version, config: _config, ...sections } = document;
  const given = [...Object.keys(sections), ...Object.keys(config).map((name) => `config.${name}`)];
  const known = [...sectionNames, ...configNames.map((name) => `config.${name}`)];
  if (given.length === 0 || given.some((name) => known.includes(name))) return;
  throw workspaceError('invalid_json', {
    message: `payload has none of the sections ${known.filter((name) => name !== 'config').join(', ')}`,
    details: { members: given.slice(0, 20) },
  });
}

function versionError(version: unknown): MortiseError {
  if (version === undefined) {
    return workspaceError('invalid_import_version', {
      message: 'version must be v1, and payload has none: it is not an export of a workspace',
    });
  }
  return workspaceError('invalid_import_version', { details: { version: describeValue(version).slice(0, 40) } });
}

function readSkill(name: string, given: unknown, parse: NonNullable<Parts['skills']>['parse']) {
  const skill = parse(isJsonObject(given) && given.name === undefined ? { ...given, name } : given);
  if (skill.name !== name) {
    const message = `the name of the skill "${name}" must be the one that it is filed under`;
    throw workspaceError('invalid_skill', { message, details: { name } });
  }
  return { ...skill, enabled: !isJsonObject(given) || given.enabled !== false };
}

function readFiles(given: unknown, texts: TextFiles): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(objectAt(given, 'it')).map(([path, content]) => [path, readFile(path, content, texts)]),
  );
}

function readFile(path: string, content: unknown, texts: TextFiles): string {
  if (!isPlainPath(path) || !texts.isOne(path)) {
    throw workspaceError('invalid_path', {
      message: `${path.slice(0, 200)} is not a path of a text`,
      details: { path },
    });
  }
  try {
    return texts.parse(content);
  } catch (error) {
    const isMissing = typeof content !== 'string' || content.trim() === '';
    throw workspaceError('invalid_ai_tools_guide', {
      message: isMissing ? `the content of ${path} is required` : `${path}: ${(error as Error).message}`,
      cause: error,
    });
  }
}

/** Runs a step; a refusal says at which place of the body it was. */
async function within<T>(place: string, run: () => Promise<T> | T): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const { code, message, status = 400, details, hint } = error as MortiseError;
    throw new MortiseError(code, `${place}: ${message}`, {
      status,
      ...(details ? { details } : {}),
      ...(hint === undefined ? {} : { hint }),
      cause: error,
    });
  }
}

function objectAt(value: unknown, place: string): JsonObject {
  if (!isJsonObject(value)) throw workspaceError('invalid_json', { message: `${place} must be an object` });
  return value;
}
