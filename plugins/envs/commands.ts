import { type Command, type CommandFacts, type Principal, wrongUsage } from 'mortise/sdk';
import type { EnvStore } from './env-store.js';
import { envError } from './errors.js';
import { envList, mayUse } from './routes.js';

export function listCommand(facts: CommandFacts, envs: EnvStore): Command {
  return { ...facts, isRead: () => true, run: async (_input, { principal }) => shown(envs, principal) };
}

export function setCommand(facts: CommandFacts, envs: EnvStore): Command {
  return {
    ...facts,
    async run({ options: { body } }, ctx) {
      if (typeof body !== 'string') return wrongUsage(facts, '--body is required.');
      mayUse(ctx.principal);
      await envs.replaceAll(envs.parse(JSON.parse(body)), ctx);
      return shown(envs, ctx.principal);
    },
  };
}

export function deleteCommand(facts: CommandFacts, envs: EnvStore): Command {
  return {
    ...facts,
    async run({ args: [key] }, ctx) {
      if (key === undefined) return wrongUsage(facts);
      mayUse(ctx.principal);
      if (!(await envs.delete(key, ctx))) throw envError('not_found', { details: { key } });
      return shown(envs, ctx.principal);
    },
  };
}

function shown(envs: EnvStore, principal: Principal) {
  mayUse(principal);
  const list = envList(envs.masked());
  const text = list.map(({ key, value }) => `${key}=${value}`).join('\n');
  return { exitCode: 0 as const, data: list, text: text || 'There are no variables. Store some with: mortise env set' };
}
