import {
  type Command,
  type CommandFacts,
  isJsonObject,
  MortiseError,
  printableJson,
  runsAtCaller,
  wrongUsage,
} from 'mortise/sdk';
import type { RouteDeps } from './routes.js';

/** The commands by their keys in the manifest. Those that transfer files run in `transfer-commands.ts`, at the caller. */
export function workspaceCommands(
  { workspace }: Pick<RouteDeps, 'workspace'>,
  factsOf: (key: string) => CommandFacts,
): Readonly<Record<string, Command>> {
  const commands: Readonly<Record<string, Omit<Command, keyof CommandFacts>>> = {
    'workspace-ls': {
      isRead: () => true,
      async run(_input, ctx) {
        const files = await workspace.list(ctx);
        const rows = files.map(({ path, kind, size }) => [path, kind, String(size)]);
        return { exitCode: 0, data: { files }, text: '', table: { head: ['PATH', 'KIND', 'BYTES'], rows } };
      },
    },
    'workspace-cat': {
      isRead: () => true,
      async run({ args: [path] }, ctx) {
        if (path === undefined) return wrongUsage(factsOf('workspace-cat'));
        const data = await workspace.read(path, false, ctx);
        const isText = isJsonObject(data) && typeof data.content === 'string' && Object.keys(data).length === 1;
        return {
          exitCode: 0,
          data,
          ...(isText ? { text: String(data.content), verbatim: true } : { text: printableJson(data, 2) }),
        };
      },
    },
    'workspace-put': {
      async run({ options: { path, body, file } }, ctx) {
        const facts = factsOf('workspace-put');
        if (typeof path !== 'string') return wrongUsage(facts, '--path is required.');
        if ((body === undefined) === (file === undefined)) return wrongUsage(facts, 'Give either --body or --file.');
        await workspace.write(path, typeof body === 'string' ? JSON.parse(body) : documentOf(path, String(file)), ctx);
        return { exitCode: 0, data: { updated: true }, text: `${path} is written.` };
      },
    },
    'workspace-rm': {
      async run({ args: [path] }, ctx) {
        if (path === undefined) return wrongUsage(factsOf('workspace-rm'));
        const deleted = await workspace.remove(path, ctx);
        return { exitCode: 0, data: { deleted }, text: deleted ? `${path} is deleted.` : `There is no ${path}.` };
      },
    },
  };
  const transfers = ['workspace-export', 'workspace-import', 'workspace-upload'];
  return Object.fromEntries([
    ...Object.entries(commands).map(([key, command]) => [key, { ...factsOf(key), ...command }]),
    ...transfers.map((key) => [key, runsAtCaller(factsOf(key))]),
  ]);
}

/** A text file of the workspace holds the text itself, any other one a JSON document. */
function documentOf(path: string, text: string): unknown {
  return /^(?:config|skills)\//.test(path) ? parseJson(text) : { content: text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MortiseError('invalid_json', 'the file is not JSON', { status: 400 });
  }
}
