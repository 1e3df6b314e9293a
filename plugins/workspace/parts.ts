import type { ChannelsService } from 'mortise/contracts/channels';
import type { CronService } from 'mortise/contracts/cron';
import { type EnvsService, isCredentialMask } from 'mortise/contracts/envs';
import type { ModelSettings, ModelSettingsService } from 'mortise/contracts/models';
import type { SkillsService } from 'mortise/contracts/skills';
import { type CallContext, isSensitiveName, type JsonObject } from 'mortise/sdk';
import { workspaceError } from './errors.js';

/** The plugins whose settings are files here; a part is undefined while its plugin is not active. */
export interface Parts {
  readonly envs: EnvsService | undefined;
  readonly channels: ChannelsService | undefined;
  readonly cron: CronService | undefined;
  readonly models: ModelSettingsService | undefined;
  readonly skills: SkillsService | undefined;
}

/** A part that is needed now. @throws not_available */
export function need<K extends keyof Parts>(parts: Parts, name: K): NonNullable<Parts[K]> {
  const part = parts[name];
  if (!part) {
    const hint = `Enable the plugin: mortise plugin enable ${name}`;
    throw workspaceError('not_available', {
      message: `the plugin ${name} is not active`,
      hint,
      details: { plugin: name },
    });
  }
  return part;
}

/** The variables of a document. A mask without a stored secret stands for none. */
export function readEnvs(envs: EnvsService, document: unknown): ReadonlyMap<string, string> {
  return new Map(
    [...envs.parse(document)].map(([key, value]) => [
      key,
      isSensitiveName(key) && isCredentialMask(value) && value !== envs.get(key) ? '' : value,
    ]),
  );
}

/** The configurations of channels in a document; masks as in {@link readEnvs}. */
export function readChannels(
  channels: ChannelsService,
  document: unknown,
  ctx: CallContext,
): Promise<ReadonlyMap<string, JsonObject>> {
  return channels.parse(document, ctx, { otherMasks: 'empty' });
}

export function channelConfigs(channels: ChannelsService, isRevealed: boolean): JsonObject {
  const read = isRevealed ? channels.config : channels.masked;
  return Object.fromEntries(channels.types().map((name) => [name, read(name) ?? {}]));
}

export function envValues(envs: EnvsService, isRevealed: boolean): JsonObject {
  return isRevealed ? Object.fromEntries(envs.all()) : { ...envs.masked() };
}

/** The active model in the form of the API: two blank texts when there is none. */
export function slotOf({ active }: ModelSettings): { readonly provider_id: string; readonly model: string } {
  return { provider_id: active?.providerId ?? '', model: active?.model ?? '' };
}
