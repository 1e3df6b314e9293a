import { type SkillsService, skillSpec } from 'mortise/contracts/skills';
import { type Command, type CommandFacts, wrongUsage } from 'mortise/sdk';
import { mayChange } from './routes.js';
import { findSkill } from './skill-store.js';

export function listCommand(facts: CommandFacts, skills: SkillsService): Command {
  return {
    ...facts,
    isRead: () => true,
    async run() {
      const all = skills.list();
      const lines = all.map(({ name, enabled }) => `${enabled ? 'enabled ' : 'disabled'}  ${name}`);
      const text = all.length === 0 ? 'There are no skills. Create one with: mortise skills create' : lines.join('\n');
      return { exitCode: 0, data: all.map(skillSpec), text };
    },
  };
}

export function toggleCommand(facts: CommandFacts, skills: SkillsService, enabled: boolean): Command {
  return {
    ...facts,
    async run({ args: [name] }, ctx) {
      if (name === undefined) return wrongUsage(facts);
      mayChange(ctx.principal);
      await skills.setEnabled([findSkill(skills, name).name], enabled, ctx);
      const data = enabled ? { enabled: true } : { disabled: true };
      return { exitCode: 0, data, text: `The skill ${name} is ${enabled ? 'enabled' : 'disabled'}.` };
    },
  };
}

export function deleteCommand(facts: CommandFacts, skills: SkillsService): Command {
  return {
    ...facts,
    async run({ args: [name] }, ctx) {
      if (name === undefined) return wrongUsage(facts);
      mayChange(ctx.principal);
      const deleted = await skills.delete(name, ctx);
      return {
        exitCode: 0,
        data: { deleted },
        text: deleted ? `The skill ${name} is deleted.` : `There is no skill ${name}.`,
      };
    },
  };
}
