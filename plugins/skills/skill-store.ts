import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
import type { Skill, SkillContent, SkillFiles, SkillsService } from 'mortise/contracts/skills';
import {
  type CallContext,
  type Database,
  lockTable,
  openStoredSnapshot,
  type StartHost,
  type StoredSnapshot,
  type Transaction,
  type TransactionOption,
} from 'mortise/sdk';
import { skillError, storing } from './errors.js';
import { readSkillBody } from './skill-body.js';
import type { SkillFolders } from './skill-folders.js';

interface SkillRow {
  readonly name: string;
  readonly content: string;
  readonly references_json: unknown;
  readonly scripts_json: unknown;
  readonly enabled: unknown;
}

interface StoreDeps {
  readonly host: Pick<StartHost, 'own' | 'every' | 'log'>;
  readonly database: Database;
  readonly audit: AuditService;
  readonly folders: SkillFolders;
}

type StoredSkill = SkillContent & { readonly enabled: boolean };

const channel = 'skills';

/** Opens the store of skills: rows in the database, and their folders on this machine. */
export async function openSkills({ host, database, audit, folders }: StoreDeps): Promise<SkillsService> {
  const snapshot = await openStoredSnapshot(host, {
    database,
    channel,
    read: () => readSkills(database),
    prepare: (skills) => folders.write(skills, host.log),
  });
  const changes = new SkillChanges(audit, snapshot);
  return {
    list: () => snapshot.current.map((skill) => ({ ...skill, path: folders.pathOf(skill.name) })),
    parse: readSkillBody,
    async save(skill, ctx, options) {
      const { enabled = true } = skill;
      folders.rewrite(skill.name);
      await changes.run(ctx, 'save', skill.name, options, (trx) => saveSkill(database, { ...skill, enabled }, trx));
      if (!options?.trx) folders.check(skill.name);
    },
    async setEnabled(names, enabled, ctx) {
      const known = new Set(snapshot.current.map(({ name }) => name));
      const wanted = names.filter((name) => known.has(name));
      if (enabled) for (const name of wanted) folders.rewrite(name);
      if (wanted.length > 0) {
        await changes.run(ctx, enabled ? 'enable' : 'disable', wanted.join(', '), undefined, (trx) =>
          database
            .query({ trx })(database.table('agent.skills'))
            .whereIn('name', wanted)
            .update({
              enabled,
              updated_at: database.codec.time(Date.now()),
            }),
        );
      }
      return wanted.length;
    },
    async delete(name, ctx, options) {
      if (!snapshot.current.some((skill) => skill.name === name)) return false;
      await changes.run(ctx, 'delete', name, options, (trx) =>
        database.query({ trx })(database.table('agent.skills')).where({ name }).delete(),
      );
      return true;
    },
    async replaceAll(skills, ctx, options) {
      for (const { name } of skills) folders.rewrite(name);
      await changes.run(ctx, 'replace_all', `${skills.length} skills`, options, async (trx) => {
        await lockTable(database, 'agent.skills', trx);
        await database.query({ trx })(database.table('agent.skills')).delete();
        for (const skill of skills) await saveSkill(database, skill, trx);
      });
    },
    refresh: () => storing(() => snapshot.refresh()),
  };
}

/** Changes rows together with their audit row, and shows the change to the next request. */
class SkillChanges {
  readonly #audit: AuditService;
  readonly #snapshot: StoredSnapshot<readonly StoredSkill[]>;

  constructor(audit: AuditService, snapshot: StoredSnapshot<readonly StoredSkill[]>) {
    this.#audit = audit;
    this.#snapshot = snapshot;
  }

  run(
    ctx: CallContext,
    operation: string,
    target: string,
    options: TransactionOption | undefined,
    change: (trx: Transaction) => Promise<unknown>,
  ): Promise<void> {
    const write = async (trx: Transaction): Promise<void> => {
      await change(trx);
      const targetSpace = target.slice(0, 200);
      await this.#audit.write(changeEntry(`skills:${operation}`, ctx, { targetSpace }), { trx });
    };
    return storing(() => this.#snapshot.change(operation, write, options?.trx));
  }
}

async function readSkills(database: Database): Promise<readonly StoredSkill[]> {
  const rows: SkillRow[] = await database
    .query()(database.table('agent.skills'))
    .select('name', 'content', 'references_json', 'scripts_json', 'enabled');
  return rows
    .map((row) => ({
      name: row.name,
      content: row.content,
      references: database.codec.parseJson<SkillFiles>(row.references_json),
      scripts: database.codec.parseJson<SkillFiles>(row.scripts_json),
      enabled: database.codec.parseFlag(row.enabled),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function saveSkill(database: Database, skill: StoredSkill, trx: Transaction): Promise<void> {
  const row = {
    content: skill.content,
    references_json: database.codec.json(skill.references),
    scripts_json: database.codec.json(skill.scripts),
    enabled: skill.enabled,
    updated_at: database.codec.time(Date.now()),
  };
  await database
    .query({ trx })(database.table('agent.skills'))
    .insert({ name: skill.name, ...row })
    .onConflict('name')
    .merge(row);
}

/** The skill of a name. @throws skill_not_found */
export function findSkill(skills: Pick<SkillsService, 'list'>, name: string): Skill {
  const found = skills.list().find((skill) => skill.name === name);
  if (!found) throw skillError('skill_not_found', { details: { name } });
  return found;
}
