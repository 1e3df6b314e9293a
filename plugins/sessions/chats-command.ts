import type { chatSpec } from 'mortise/contracts/sessions';
import {
  type ClientCommand,
  type CommandCaller,
  type CommandInput,
  type CommandResult,
  isJsonObject,
  wrongUsage,
} from 'mortise/sdk';
import type { turnRecord } from './routes/shared.js';

type Chat = ReturnType<typeof chatSpec>;
type Turn = ReturnType<typeof turnRecord>;

interface Message {
  readonly role: string;
  readonly content: readonly { readonly text?: string }[];
}

/** `mortise chats …`: the API of chats, with the rights of the caller's key. */
const chatsCommand: ClientCommand = (input, caller) => {
  const run = commands[caller.command.key];
  return run ? run(input, caller) : Promise.resolve(wrongUsage(caller.command));
};

export default chatsCommand;

const commands: Readonly<Record<string, ClientCommand>> = {
  'chats-list': async ({ options: { userId, channel, limit } }, { request }) => {
    const chats = await request<readonly Chat[]>('GET', `/chats${query({ user_id: userId, channel, limit })}`);
    const rows = chats.map(({ id, name, user_id, channel: of, updated_at }) => [id, name, user_id, of, updated_at]);
    const table = { head: ['ID', 'NAME', 'USER', 'CHANNEL', 'UPDATED'], rows };
    return chats.length === 0
      ? done(chats, 'There are no chats. Begin one with: mortise tui')
      : { ...done(chats, ''), table };
  },

  'chats-create': async ({ options }, { request, command, env }) => {
    const { sessionId, name, id } = options;
    const given: unknown = typeof options.body === 'string' ? JSON.parse(options.body) : {};
    if (!isJsonObject(given)) return wrongUsage(command, '--body must be a JSON object.');
    const session = sessionId ?? given.session_id;
    if (session === undefined) return wrongUsage(command, '--session-id is required.');
    const body = {
      ...given,
      session_id: session,
      user_id: options.userId ?? given.user_id ?? env.MORTISE_USER_ID ?? 'demo-user',
      channel: options.channel ?? given.channel ?? env.MORTISE_CHANNEL ?? 'console',
      ...(name === undefined ? {} : { name }),
      ...(id === undefined ? {} : { id }),
    };
    const chat = await request<Chat>('POST', '/chats', body);
    return done(chat, `The chat ${chat.id} is stored.`);
  },

  'chats-get': async (input, caller) => {
    const { limit, includeFailed } = input.options;
    return onChat(input, caller, async (path) => {
      const text = query({ limit, include_failed: includeFailed === true ? 'true' : undefined });
      const data = await caller.request<{ messages: readonly Message[] }>('GET', `${path}${text}`);
      const lines = data.messages.map(
        ({ role, content }) => `${role}: ${indented(content.map((part) => part.text ?? '').join('\n'))}`,
      );
      return done(data, lines.join('\n\n') || 'The chat has no messages.');
    });
  },

  'chats-update': async (input, caller) => {
    const { name, meta } = input.options;
    if (name === undefined && meta === undefined) return wrongUsage(caller.command, 'Give --name, --meta or both.');
    return onChat(input, caller, async (path, id) => {
      const chats = await caller.request<readonly Chat[]>('GET', '/chats');
      const known = chats.find((one) => one.id === id);
      // The server words that there is no such chat.
      if (!known) await caller.request('GET', path);
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(typeof meta === 'string' ? { meta: JSON.parse(meta) as unknown } : {}),
      };
      const chat = await caller.request<Chat>('PUT', path, { ...known, id, ...change });
      return done(chat, `The chat ${chat.id} is stored.`);
    });
  },

  'chats-delete': (input, caller) =>
    onChat(input, caller, async (path, id) => done(await caller.request('DELETE', path), `The chat ${id} is deleted.`)),

  'chats-batch-delete': async ({ args }, { request, command }) => {
    if (args.length === 0) return wrongUsage(command);
    return done(await request('POST', '/chats/batch-delete', args), 'The chats are deleted.');
  },

  'chats-turns': (input, caller) =>
    onChat(input, caller, async (path, id) => {
      const { status, limit } = input.options;
      const turns = await caller.request<readonly Turn[]>('GET', `${path}/turns${query({ status, limit })}`);
      const rows = turns.map((turn) => [
        turn.turn_id,
        turn.status,
        `${turn.provider_id ?? '-'}/${turn.model ?? '-'}`,
        turn.started_at,
      ]);
      if (rows.length === 0) return done(turns, `The chat ${id} has no turns.`);
      return { ...done(turns, ''), table: { head: ['TURN', 'STATUS', 'MODEL', 'STARTED'], rows } };
    }),
};

/** Runs with the path of the chat that is the only argument. */
async function onChat(
  { args }: CommandInput,
  { command }: CommandCaller,
  run: (path: string, id: string) => Promise<CommandResult>,
): Promise<CommandResult> {
  const [id, ...rest] = args;
  if (id === undefined || id === '' || rest.length > 0) return wrongUsage(command);
  return run(`/chats/${encodeURIComponent(id)}`, id);
}

/** Only a role begins at the left edge: a text with line breaks cannot look like the next message. */
const indented = (text: string): string => text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/).join('\n  ');

const done = (data: unknown, text: string): CommandResult => ({ exitCode: 0, data, text });

function query(values: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(values).filter((one): one is [string, string] => typeof one[1] === 'string');
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
