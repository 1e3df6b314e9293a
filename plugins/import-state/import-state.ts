import type { ChannelsService } from 'mortise/contracts/channels';
import type { CronService } from 'mortise/contracts/cron';
import type { NewMessage, SessionsService } from 'mortise/contracts/sessions';
import type { WorkspaceService } from 'mortise/contracts/workspace';
import { type CallContext, isCodedError, isJsonObject, type JsonObject, MortiseError } from 'mortise/sdk';

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

const roles = ['user', 'assistant', 'system'] as const;

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
  const providers = entries(state, 'providers').map(([id, settings]) => [id, withoutBlanks(settings)] as const);
  const payload = {
    version: 'v1',
    ...(skills.length > 0 ? { skills: Object.fromEntries(skills) } : {}),
    config: {
      ...(envs.length > 0 ? { envs: Object.fromEntries(envs) } : {}),
      ...(channels.length > 0 ? { channels: Object.fromEntries(channels) } : {}),
      ...(providers.length > 0
        ? { models: { providers: Object.fromEntries(providers), active_llm: state.active_llm ?? {} } }
        : {}),
    },
  };
  await deps.workspace.import({ mode: 'replace', payload }, ctx);

  let [chats, messages, jobs] = [0, 0, 0];
  for (const [id, chat] of chatEntries) {
    try {
      messages += await importChat(deps.sessions, id, chat, listAt(state.histories, id));
      chats += 1;
    } catch (error) {
      skip('chat', id, error);
    }
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

/** @returns the number of messages @throws MortiseError for a chat that is not valid or has messages already */
async function importChat(
  sessions: SessionsService,
  id: string,
  chat: unknown,
  history: readonly unknown[],
): Promise<number> {
  const {
    name,
    session_id: sessionId,
    user_id: userId,
    channel,
    meta,
  } = isJsonObject(chat) ? chat : ({} as JsonObject);
  if (!isText(sessionId) || !isText(userId) || !isText(channel)) {
    throw new MortiseError('invalid_chat', 'session_id, user_id, channel are required', { status: 400 });
  }
  const known = await sessions.getChat(id);
  if (known && (await sessions.display({ chatId: id }, { limit: 1 })).messages.length > 0) {
    throw new MortiseError('chat_exists', 'it is there already, with messages', { status: 409 });
  }
  const session = { sessionId, userId, channel };
  await sessions.saveChat({
    id,
    session,
    ...(isText(name) ? { name } : {}),
    ...(isJsonObject(meta) ? { meta } : {}),
  });
  const rows = history.flatMap(messageOf);
  if (rows.length === 0) return 0;
  const written = await sessions.withLease(session, (lease) => lease.append(rows));
  if (written === null) throw new MortiseError('session_busy', 'its session has a running turn', { status: 409 });
  return rows.length;
}

/** The text of a message; tool calls of the earlier gateway have no form here that a model could use. */
function messageOf(message: unknown): readonly NewMessage[] {
  if (!isJsonObject(message)) return [];
  const role = roles.find((one) => one === message.role);
  const parts = Array.isArray(message.content) ? message.content : [];
  const texts = parts.flatMap((part) => (isJsonObject(part) && isText(part.text) ? [part.text] : []));
  return role === undefined || texts.length === 0 ? [] : [{ role, content: texts.join('\n') }];
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

function listAt(section: unknown, id: string): readonly unknown[] {
  const list = isJsonObject(section) ? section[id] : undefined;
  return Array.isArray(list) ? list : [];
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
