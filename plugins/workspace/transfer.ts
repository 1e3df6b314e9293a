import { skillSpec } from 'mortise/contracts/skills';
import { type CallContext, type Database, isJsonObject, type JsonObject } from 'mortise/sdk';
import { workspaceError } from './errors.js';
import { channelConfigs, envValues, need, type Parts, readChannels, readEnvs, slotOf } from './parts.js';
import { checkRight } from './workspace.js';

/** Everything that people have configured. A section whose plugin is not active is absent. */
export interface WorkspaceExport {
  readonly version: 'v1';
  readonly skills?: Readonly<Record<string, unknown>>;
  readonly config: {
    readonly envs?: JsonObject;
    readonly channels?: JsonObject;
    readonly models?: { readonly providers: unknown; readonly active_llm: unknown };
  };
}

export async function exportWorkspace(parts: Parts, isRevealed: boolean, ctx: CallContext): Promise<WorkspaceExport> {
  checkRight(ctx);
  const { envs, channels, models, skills } = parts;
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
  };
}

/**
 * Replaces the sections that a payload has, all of them or none: everything is checked before anything is written, and
 * written in one transaction.
 *
 * @throws invalid_import_mode, invalid_import_version, invalid_json, and what the owner of a section refuses
 */
export async function importWorkspace(
  { parts, database }: { readonly parts: Parts; readonly database: Database },
  body: unknown,
  ctx: CallContext,
): Promise<void> {
  checkRight(ctx);
  const { mode, payload } = objectAt(body, 'the body');
  if (mode !== 'replace') throw workspaceError('invalid_import_mode');
  const { version, skills: skillMap, config: sections = {} } = objectAt(payload, 'payload');
  if (version !== 'v1') throw workspaceError('invalid_import_version');
  const config = objectAt(sections, 'payload.config');

  const writes: ((options: Parameters<Parameters<Database['transaction']>[0]>[0]) => Promise<void>)[] = [];
  const refreshes: (() => Promise<unknown>)[] = [];
  if (skillMap !== undefined) {
    const skills = need(parts, 'skills');
    const read = Object.entries(objectAt(skillMap, 'payload.skills')).map(([name, given]) => {
      const skill = skills.parse(isJsonObject(given) && given.name === undefined ? { ...given, name } : given);
      if (skill.name !== name) throw workspaceError('invalid_skill', { details: { name } });
      return { ...skill, enabled: !isJsonObject(given) || given.enabled !== false };
    });
    writes.push((trx) => skills.replaceAll(read, ctx, { trx }));
    refreshes.push(() => skills.refresh());
  }
  if (config.envs !== undefined) {
    const envs = need(parts, 'envs');
    const values = readEnvs(envs, config.envs);
    writes.push((trx) => envs.replaceAll(values, ctx, { trx }));
    refreshes.push(() => envs.refresh());
  }
  if (config.channels !== undefined) {
    const channels = need(parts, 'channels');
    const configs = readChannels(channels, config.channels);
    writes.push((trx) => channels.replaceAll(configs, ctx, { trx }));
    refreshes.push(() => channels.refresh());
  }
  if (config.models !== undefined) {
    const models = need(parts, 'models');
    const { providers, active_llm: active } = objectAt(config.models, 'payload.config.models');
    const documents = {
      ...(providers === undefined ? {} : { providers }),
      ...(active === undefined ? {} : { active }),
    };
    await models.check(documents);
    writes.push((trx) => models.replace(documents, ctx, { trx }));
  }
  await database.transaction(async (trx) => {
    for (const write of writes) await write(trx);
  });
  await Promise.all(refreshes.map((refresh) => refresh()));
}

function objectAt(value: unknown, place: string): JsonObject {
  if (!isJsonObject(value)) throw workspaceError('invalid_json', { message: `${place} must be an object` });
  return value;
}
