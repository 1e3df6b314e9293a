import { type Skill, type SkillsService, skillSpec } from 'mortise/contracts/skills';
import { listPage, mayConfigure, type Principal, type Route } from 'mortise/sdk';
import { skillError } from './errors.js';
import { skillFiles } from './skill-folders.js';
import { findSkill } from './skill-store.js';

export function listRoute(skills: SkillsService, isWanted: (skill: Skill) => boolean): Route {
  return {
    handle({ query }, ctx) {
      const asked = { limit: query.get('limit'), cursor: query.get('cursor') };
      return { body: listPage(skills.list().filter(isWanted), ({ name }) => name, asked, ctx).map(skillSpec) };
    },
  };
}

export function saveRoute(skills: SkillsService): Route {
  return {
    async handle({ body }, ctx) {
      mayChange(ctx.principal);
      await skills.save(skills.parse(body), ctx);
      return { body: { created: true } };
    },
  };
}

export function batchRoute(skills: SkillsService, enabled: boolean): Route {
  return {
    async handle({ body }, ctx) {
      mayChange(ctx.principal);
      if (!Array.isArray(body) || !body.every((name) => typeof name === 'string')) throw skillError('invalid_json');
      await skills.setEnabled(body, enabled, ctx);
      return { body: { ok: true } };
    },
  };
}

export function toggleRoute(skills: SkillsService, enabled: boolean): Route {
  return {
    async handle({ params: { name = '' } }, ctx) {
      mayChange(ctx.principal);
      if ((await skills.setEnabled([name], enabled, ctx)) === 0)
        throw skillError('skill_not_found', { details: { name } });
      return { body: enabled ? { enabled: true } : { disabled: true } };
    },
  };
}

export function deleteRoute(skills: SkillsService): Route {
  return {
    async handle({ params: { name = '' } }, ctx) {
      mayChange(ctx.principal);
      return { body: { deleted: await skills.delete(name, ctx) } };
    },
  };
}

export function fileRoute(skills: SkillsService): Route {
  return {
    handle({ params: { name = '', file_path: path = '' } }) {
      const content = skillFiles(findSkill(skills, name)).get(path);
      if (content === undefined) throw skillError('skill_file_not_found', { details: { file_path: path } });
      return { body: { content } };
    },
  };
}

/** Skills speak to the agents of all users: a key that is bound to one user may not change them. @throws forbidden */
export function mayChange(principal: Principal): void {
  if (!mayConfigure(principal)) throw skillError('forbidden');
}
