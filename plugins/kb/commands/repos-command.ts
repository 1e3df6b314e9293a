import { realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CallContext, CommandInput, CommandResult, PluginControl } from 'mortise/sdk';
import type { KbService } from '../service/knowledge-base.js';
import { assertDistinct } from '../service/settings.js';
import { done, usage } from './command-input.js';
import { plain } from './format.js';

interface ReposDeps {
  readonly kb: KbService;
  readonly plugins: PluginControl;
}

/** `mortise kb repos [add NAME DIR | remove NAME]` */
export async function repos(
  { kb, plugins }: ReposDeps,
  { args, cwd, resume }: CommandInput,
  { log }: CallContext,
): Promise<CommandResult> {
  const [action, name, dir] = args;
  const current = kb.settings.repos.map((repo) => ({ name: repo.name, path: repo.root }));
  if (resume !== undefined && resume !== JSON.stringify(current)) {
    return {
      exitCode: 1,
      data: { repos: current },
      text: 'The repos were not changed; the log of the server says why.',
    };
  }
  if (action === undefined || resume !== undefined)
    return done(
      { repos: current },
      current.length === 0
        ? 'No repo is configured. Add one: mortise kb repos add NAME DIR'
        : current.map((one) => `${one.name}  ${plain(one.path)}`).join('\n'),
    );
  const isAdd = action === 'add' && name !== undefined && dir !== undefined;
  const isRemove = action === 'remove' && name !== undefined && dir === undefined;
  if (!isAdd && !isRemove) return usage('Usage: mortise kb repos [add NAME DIR | remove NAME]');
  if (isRemove && !current.some((one) => one.name === name)) kb.repoOf({ repo: name });
  const path = resolve(cwd ?? process.cwd(), dir ?? '.');
  if (isAdd && statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    return usage(`${plain(path)} is no folder.`);
  const known = current.find((one) => one.name === name);
  if (isAdd && known !== undefined && realpathSync(path) !== known.path)
    return usage(`${name} is ${plain(known.path)} already: remove it first, or choose another name.`);
  const next = isAdd
    ? [...current.filter((one) => one.name !== name), { name, path }]
    : current.filter((one) => one.name !== name);
  // A configuration that the plugin refuses would take this command away too.
  assertDistinct(next.map((repo) => ({ name: repo.name, root: realpathSync(repo.path) })));
  if (isRemove) await kb.forget(name);
  // The change restarts the plugin, which ends its calls: it begins after this one, and the next one reports the outcome.
  setImmediate(() => {
    plugins.patchConfig('kb', { repos: next }).catch((error: unknown) => {
      log.warn({ err: error }, 'The repos of the knowledge base could not be changed.');
    });
  });
  return { exitCode: 0, data: null, text: '', again: { resume: JSON.stringify(next), afterMs: 1_000 } };
}
