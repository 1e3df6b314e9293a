import { readFile, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { type Command, type CommandFacts, isJsonObject, MortiseError, printableText, wrongUsage } from 'mortise/sdk';
import type { RouteDeps } from './routes.js';
import { exportWorkspace, importWorkspace } from './transfer.js';

const mostUploadBytes = 20 * 1_024 * 1_024;

/** The commands by their keys in the manifest. */
export function workspaceCommands(
  { workspace, uploads, parts, database }: RouteDeps,
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
          text: printableText(isText ? String(data.content) : JSON.stringify(data, null, 2)),
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
    'workspace-export': {
      isRead: ({ options }) => options.out === undefined,
      async run({ options: { out }, cwd }, ctx) {
        const data = await exportWorkspace(parts, false, ctx);
        const text = JSON.stringify(data, null, 2);
        if (typeof out !== 'string') return { exitCode: 0, data, text: printableText(text) };
        const file = resolve(cwd ?? process.cwd(), out);
        await writeFile(file, `${text}\n`, { mode: 0o600 });
        return { exitCode: 0, data: { exported: true, path: file }, text: `Written to ${file}, secrets masked.` };
      },
    },
    'workspace-import': {
      async run({ options: { file } }, ctx) {
        if (typeof file !== 'string') return wrongUsage(factsOf('workspace-import'), '--file is required.');
        const read = parseJson(file);
        const body = isJsonObject(read) && read.mode === undefined ? { mode: 'replace', payload: read } : read;
        await importWorkspace({ parts, database }, body, ctx);
        return { exitCode: 0, data: { imported: true }, text: 'Imported.' };
      },
    },
    'workspace-upload': {
      async run({ args: [file], cwd }) {
        if (file === undefined) return wrongUsage(factsOf('workspace-upload'));
        const bytes = await readFile(resolve(cwd ?? process.cwd(), file));
        if (bytes.length > mostUploadBytes) {
          const details = { max_bytes: mostUploadBytes };
          throw new MortiseError('payload_too_large', 'the file is larger than 20 MiB', { status: 413, details });
        }
        const upload = await uploads.store(basename(file), bytes);
        return { exitCode: 0, data: { uploaded: true, ...upload }, text: upload.path };
      },
    },
  };
  return Object.fromEntries(Object.entries(commands).map(([key, command]) => [key, { ...factsOf(key), ...command }]));
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
