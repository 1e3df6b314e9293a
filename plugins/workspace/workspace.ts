import { mayReveal } from 'mortise/contracts/envs';
import { type AuditService, changeEntry } from 'mortise/contracts/logbook';
import { type SkillsService, skillSpec } from 'mortise/contracts/skills';
import { type CallContext, type HttpService, isJsonObject, mayConfigure, type Refusal } from 'mortise/sdk';
import { type ConfigDocument, configDocuments } from './documents.js';
import { workspaceError } from './errors.js';
import { need, type Parts } from './parts.js';
import { isPlainPath, type TextFiles } from './text-files.js';

interface WorkspaceDeps {
  readonly parts: Parts;
  readonly texts: TextFiles;
  readonly audit: AuditService;
  readonly http: Pick<HttpService, 'keyed' | 'adminKeyed'>;
  readonly refused: (refusal: Refusal) => void;
}

interface ListedFile {
  readonly path: string;
  readonly kind: 'config' | 'skill';
  /** Bytes, with masked secrets. */
  readonly size: number;
}

type Place =
  | { readonly kind: 'config'; readonly document: ConfigDocument }
  | { readonly kind: 'skill'; readonly name: string }
  | { readonly kind: 'text' }
  | { readonly kind: 'none' };

/** The files that people read and change: stored settings, skills, and texts in the workspace folder. */
export class Workspace {
  readonly #deps: WorkspaceDeps;

  constructor(deps: WorkspaceDeps) {
    this.#deps = deps;
  }

  async list(ctx: CallContext): Promise<readonly ListedFile[]> {
    checkRight(ctx);
    const { parts, texts } = this.#deps;
    const config = await Promise.all(
      Object.entries(configDocuments).map(async ([path, document]): Promise<ListedFile[]> => {
        if (parts[document.plugin] === undefined) return [];
        return [{ path, kind: 'config', size: sizeOf(await document.read(parts, false)) }];
      }),
    );
    const skills = (parts.skills?.list() ?? []).map(
      (skill): ListedFile => ({ path: `skills/${skill.name}.json`, kind: 'skill', size: sizeOf(skillSpec(skill)) }),
    );
    const written = (await texts.list()).map((file): ListedFile => ({ ...file, kind: 'config' }));
    return [...config.flat(), ...skills, ...written].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** @throws not_found, invalid_path, forbidden */
  async read(path: string, isRevealed: boolean, ctx: CallContext): Promise<unknown> {
    checkRight(ctx);
    const place = this.#placeOf(path);
    if (place.kind === 'config') {
      if (isRevealed) await this.checkReveal(path, ctx);
      return place.document.read(this.#deps.parts, isRevealed);
    }
    if (place.kind === 'skill') {
      const skill = this.#skills()
        .list()
        .find(({ name }) => name === place.name);
      if (skill) return skillSpec(skill);
    }
    if (place.kind === 'text') return { content: await this.#deps.texts.read(path) };
    throw workspaceError('not_found', { details: { path } });
  }

  /** @throws invalid_path, forbidden, and what the owner of the file refuses */
  async write(path: string, body: unknown, ctx: CallContext): Promise<void> {
    checkRight(ctx);
    const place = this.#placeOf(path);
    if (place.kind === 'config') return place.document.replace(this.#deps.parts, body, ctx);
    if (place.kind === 'skill') return this.#writeSkill(place.name, body, ctx);
    if (place.kind === 'none') throw workspaceError('invalid_path');
    if (!isJsonObject(body)) throw workspaceError('invalid_json');
    const { texts } = this.#deps;
    await texts.write(new Map([[path, texts.parse(body.content)]]));
    await this.#audit('write', path, ctx);
  }

  /** @throws method_not_allowed, invalid_path, forbidden */
  async remove(path: string, ctx: CallContext): Promise<boolean> {
    checkRight(ctx);
    const place = this.#placeOf(path);
    if (place.kind === 'none') throw workspaceError('invalid_path');
    if (place.kind !== 'skill') throw workspaceError('method_not_allowed');
    return this.#skills().delete(place.name, ctx);
  }

  /** Allows and records that a caller sees secrets in clear. @throws forbidden */
  async checkReveal(path: string, ctx: CallContext): Promise<void> {
    const { http, refused } = this.#deps;
    if (!mayReveal(ctx.principal, http)) {
      const { principal, correlationId } = ctx;
      refused({ reason: 'admin_required', subject: principal.id, target: `workspace reveal ${path}`, correlationId });
      throw workspaceError('reveal_forbidden');
    }
    await this.#audit('reveal', path, ctx);
  }

  async #writeSkill(name: string, body: unknown, ctx: CallContext): Promise<void> {
    const skills = this.#skills();
    const given = isJsonObject(body) && body.name === undefined ? { ...body, name } : body;
    const skill = skills.parse(given);
    if (skill.name !== name) throw workspaceError('invalid_skill');
    const enabled = !isJsonObject(body) || body.enabled !== false;
    await skills.save({ ...skill, enabled }, ctx);
  }

  #skills(): SkillsService {
    return need(this.#deps.parts, 'skills');
  }

  #placeOf(path: string): Place {
    if (!isPlainPath(path)) throw workspaceError('invalid_path');
    const document = Object.hasOwn(configDocuments, path) ? configDocuments[path] : undefined;
    if (document) return { kind: 'config', document };
    const skill = /^skills\/([^/]+)\.json$/.exec(path)?.[1];
    if (skill !== undefined) return { kind: 'skill', name: skill };
    return { kind: this.#deps.texts.isOne(path) ? 'text' : 'none' };
  }

  async #audit(operation: 'write' | 'reveal', path: string, ctx: CallContext): Promise<void> {
    const evidence = { path: path.slice(0, 200) };
    await this.#deps.audit.write(changeEntry(`workspace:${operation}`, ctx, { evidence }));
  }
}

/** These settings apply to all users, so a key that is bound to one user has no access. @throws forbidden */
export function checkRight({ principal }: CallContext): void {
  if (!mayConfigure(principal)) throw workspaceError('forbidden');
}

function sizeOf(document: unknown): number {
  return Buffer.byteLength(JSON.stringify(document, null, 2));
}
