import type { CallContext } from 'mortise/sdk';
import { channelConfigs, envValues, need, type Parts, readChannels, readEnvs, slotOf } from './parts.js';

/** Settings that are stored in the database and read and written as a file. */
export interface ConfigDocument {
  readonly plugin: keyof Parts;
  read(parts: Parts, isRevealed: boolean): Promise<unknown>;
  replace(parts: Parts, body: unknown, ctx: CallContext): Promise<void>;
}

export const configDocuments: Readonly<Record<string, ConfigDocument>> = {
  'config/envs.json': {
    plugin: 'envs',
    read: async (parts, isRevealed) => envValues(need(parts, 'envs'), isRevealed),
    async replace(parts, body, ctx) {
      const envs = need(parts, 'envs');
      await envs.replaceAll(readEnvs(envs, body), ctx);
    },
  },
  'config/channels.json': {
    plugin: 'channels',
    read: async (parts, isRevealed) => channelConfigs(need(parts, 'channels'), isRevealed),
    async replace(parts, body, ctx) {
      const channels = need(parts, 'channels');
      await channels.replaceAll(await readChannels(channels, body, ctx), ctx);
    },
  },
  'config/models.json': {
    plugin: 'models',
    async read(parts, isRevealed) {
      const models = need(parts, 'models');
      const settings = await models.read();
      return (isRevealed ? settings : models.masked(settings)).providers;
    },
    replace: (parts, body, ctx) => need(parts, 'models').replace({ providers: body }, ctx),
  },
  'config/active-llm.json': {
    plugin: 'models',
    read: async (parts) => slotOf(await need(parts, 'models').read()),
    replace: (parts, body, ctx) => need(parts, 'models').replace({ active: body }, ctx),
  },
};
