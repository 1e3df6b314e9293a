import type { ChannelsService } from 'mortise/contracts/channels';
import type { CronService } from 'mortise/contracts/cron';
import type { SessionsService } from 'mortise/contracts/sessions';
import type { WorkspaceService } from 'mortise/contracts/workspace';
import { type CallContext, isCodedError, isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';
import { importChat } from './import-chat.js';

export interface ImportDeps {
  readonly sessions: SessionsService;
  readonly workspace: WorkspaceService;
  readonly channels: Pick<ChannelsService, 'types'>;
  readonly cron: CronService;
}

/** What of a state was taken over. */
export interface ImportReport {
  readonly imported: Readonly<
    Record<'chats' | 'messages' | 'jobs' | 'providers' | 'envs' | 'skills' | 'channels', number>
  >;
  readonly skipped: readonly { readonly what: string; readonly id: string; readonly reason: string }[];
}

/**
 * Takes a state over: settings all or nothing, then each chat with its history and each job by itself. Chats that have
 * messages already are skipped, so that a second import doubles nothing.
 *
 * @throws MortiseError `invalid_json`, `invalid_import_version`, and what the owner of a setting refuses
 */
export async function importState(deps: ImportDeps, state: unknown, ctx: CallContext): Promise<ImportReport> {
  if (!isJsonObject(state)) throw new MortiseError('invalid_json', 'the state must be an object', { status: 400 });
  const { schema_version: version = 1 } = state;
  if (version !== 1) {
    const details = { schema_version: version };
    throw new MortiseError('invalid_import_version', 'schema_version must be 1', { status: 400, details });
  }
  const skipped: { what: string; id: string; reason: string }[] = [];
  const skip = (what: string, id: string, error: unknown): void => {
    if (!isCodedError(error)) throw error;
    skipped.push({ what, id, reason: error.message });
  };

  const channels = entries(state, 'channels').filter(([name]) => {
    const isKnown = deps.channels.types().includes(name);
    if (!isKnown) skipped.push({ what: 'channel', id: name, reason: 'there is no such channel' });
    return isKnown;
  });
  const [envs, skills] = [entries(state, 'envs'), entries(state, 'skills')];
  const [chatEntries, jobEntries] = [entries(state, 'chats'), entries(state, 'cron_jobs')];
  const histories = new Map(entries(state, 'histories'));
  const providers = entries(state, 'providers').map(([id, settings]) => [id, withoutBlanks(settings)] as const);
  const payload = {
    version: 'v1',
    ...(skills.length > 0 ? { skills: Object.fromEntries(skills) } : {}),
    config: {
      ...(envs.length > 0 ? { envs: Object.fromEntries(envs) } : {}),
      ...(channels.length > 0 ? { channels: Object.fromEntries(channels) } : {}),
      ...(providers.length > 0 || isSlot(state.active_llm)
        ? {
            models: {
              ...(providers.length > 0 ? { providers: Object.fromEntries(providers) } : {}),
              active_llm: state.active_llm ?? {},
            },
          }
        : {}),
    },
  };
  await deps.workspace.import({ mode: 'replace', payload }, ctx);

  let [chats, messages, jobs] = [0, 0, 0];
  for (const [id, chat] of chatEntries) {
    try {
      const { stored, skipped: reasons } = await importChat(deps.sessions, id, chat, histories.get(id));
      messages += stored;
      chats += 1;
      for (const reason of reasons) skipped.push({ what: 'messages', id, reason });
    } catch (error) {
      skip('chat', id, error);
    }
    histories.delete(id);
  }
  for (const [id, history] of histories) {
    const isEmpty = history === null || (Array.isArray(history) && history.length === 0);
    if (!isEmpty) skipped.push({ what: 'history', id, reason: 'the file has no chat of this id' });
  }
  for (const [id, job] of jobEntries) {
    try {
      await deps.cron.save(job, ctx);
      jobs += 1;
    } catch (error) {
      skip('job', id, error);
    }
  }
  const counts = { providers: providers.length, envs: envs.length, skills: skills.length, channels: channels.length };
  return { imported: { chats, messages, jobs, ...counts }, skipped };
}

/** Whether a model is named; the state file writes blank texts where there is none. */
function isSlot(slot: unknown): boolean {
  return isJsonObject(slot) ? Object.values(slot).some((value) => value !== '') : slot !== undefined && slot !== null;
}

/** The state file writes a blank text where there is no value. */
function withoutBlanks(settings: unknown): unknown {
  if (!isJsonObject(settings)) return settings;
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== '' && value !== 0));
}

function entries(state: JsonObject, name: string): readonly [string, unknown][] {
  const section = state[name];
  if (section === undefined || section === null) return [];
  if (!isJsonObject(section)) throw new MortiseError('invalid_json', `${name} must be an object`, { status: 400 });
  return Object.entries(section);
}
