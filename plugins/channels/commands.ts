import { isChannelEnabled } from 'mortise/contracts/channels';
import { type Command, type CommandFacts, printableJson, wrongUsage } from 'mortise/sdk';
import type { ChannelStore } from './channel-store.js';
import { channelError } from './errors.js';
import { maskedConfigs, mayUse } from './routes.js';

export function listCommand(facts: CommandFacts, channels: ChannelStore): Command {
  return {
    ...facts,
    isRead: () => true,
    async run(_input, { principal }) {
      mayUse(principal);
      const data = maskedConfigs(channels);
      const lines = Object.entries(data).map(
        ([name, config]) => `${isChannelEnabled(config) ? 'enabled ' : 'disabled'}  ${name}`,
      );
      return { exitCode: 0, data, text: lines.join('\n') || 'There are no channels.' };
    },
  };
}

export function typesCommand(facts: CommandFacts, channels: ChannelStore): Command {
  return {
    ...facts,
    isRead: () => true,
    async run() {
      const data = channels.types();
      return { exitCode: 0, data, text: data.join('\n') || 'There are no channels.' };
    },
  };
}

export function getCommand(facts: CommandFacts, channels: ChannelStore): Command {
  return {
    ...facts,
    isRead: () => true,
    async run({ args: [name] }, { principal }) {
      if (name === undefined) return wrongUsage(facts);
      mayUse(principal);
      return shown(channels, name.toLowerCase());
    },
  };
}

export function setCommand(facts: CommandFacts, channels: ChannelStore): Command {
  return {
    ...facts,
    async run({ args: [given], options: { body } }, ctx) {
      if (given === undefined) return wrongUsage(facts);
      if (typeof body !== 'string') return wrongUsage(facts, '--body is required.');
      mayUse(ctx.principal);
      const name = given.toLowerCase();
      await channels.replace(name, await channels.parseOne(name, JSON.parse(body), ctx), ctx);
      return shown(channels, name);
    },
  };
}

function shown(channels: ChannelStore, name: string) {
  const data = channels.masked(name);
  if (!data) throw channelError('not_found', { details: { channels: channels.types() } });
  return { exitCode: 0 as const, data, text: printableJson(data, 2) };
}
