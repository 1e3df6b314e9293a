import type { CallContext, TransactionOption } from 'mortise/sdk';

/** Files below `references/` or `scripts/`: a text, or a folder of them. */
export interface SkillFiles {
  readonly [name: string]: string | SkillFiles;
}

/** What a person writes: instructions for an agent, with the files that they refer to. */
export interface SkillContent {
  readonly name: string;
  /** Text of `SKILL.md`. */
  readonly content: string;
  readonly references: SkillFiles;
  readonly scripts: SkillFiles;
}

export interface Skill extends SkillContent {
  readonly enabled: boolean;
  /** Absolute path of its folder. */
  readonly path: string;
}

/** A skill in the form of the API. */
export function skillSpec({ name, content, path, references, scripts, enabled }: Skill) {
  return { name, content, source: 'customized', path, references, scripts, enabled };
}

/** The service `skills`. Changes are audited, and seen by every replica. */
export interface SkillsService {
  /** All skills, by name. */
  list(): readonly Skill[];
  /**
   * Checks a body of the API.
   * @throws invalid_skill
   */
  parse(body: unknown): SkillContent;
  /** Creates or replaces a skill, and enables it unless `enabled` is false. */
  save(
    skill: SkillContent & { readonly enabled?: boolean },
    ctx: CallContext,
    options?: TransactionOption,
  ): Promise<void>;
  /** @returns how many of the names exist */
  setEnabled(names: readonly string[], enabled: boolean, ctx: CallContext): Promise<number>;
  /** @returns whether there was one */
  delete(name: string, ctx: CallContext, options?: TransactionOption): Promise<boolean>;
  /** Replaces all skills, in the caller's transaction. */
  replaceAll(
    skills: readonly (SkillContent & { readonly enabled: boolean })[],
    ctx: CallContext,
    options: TransactionOption,
  ): Promise<void>;
  /** Reads what a transaction of the caller has stored. Await it after the commit, so that the next request sees it. */
  refresh(): Promise<unknown>;
}

declare module 'mortise/sdk' {
  interface Services {
    skills: SkillsService;
  }
}
