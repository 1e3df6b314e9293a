import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import {
  type ClientCommand,
  type CommandCaller,
  type CommandInput,
  type CommandResult,
  isJsonObject,
  MortiseError,
  printableJson,
  printableText,
  wrongUsage,
} from 'mortise/sdk';
import { maxUploadBytes } from './uploads.js';

/** `mortise workspace export|import|upload`: what they read and write are files on the caller's machine. */
const transferCommand: ClientCommand = (input, caller) => {
  if (caller.command.key === 'workspace-upload') return upload(input, caller);
  return caller.command.key === 'workspace-import' ? importDocument(input, caller) : exportDocument(input, caller);
};

export default transferCommand;

async function exportDocument(
  { args, options: { out, reveal } }: CommandInput,
  { request, command }: CommandCaller,
): Promise<CommandResult> {
  if (args.length > 0) return wrongUsage(command);
  const isRevealed = reveal === true;
  const data = await request('GET', `/workspace/export${isRevealed ? '?reveal=true' : ''}`);
  if (typeof out !== 'string') return { exitCode: 0, data, text: printableJson(data, 2) };
  const path = resolve(out);
  await replaceFile(path, `${JSON.stringify(data, null, 2)}\n`);
  const secrets = isRevealed ? 'with secrets in clear: keep it safe' : 'secrets masked';
  return { exitCode: 0, data: { exported: true, path }, text: `Written to ${path}, ${secrets}.` };
}

async function importDocument(
  { options: { file } }: CommandInput,
  { request, command }: CommandCaller,
): Promise<CommandResult> {
  if (typeof file !== 'string') return wrongUsage(command, '--file is required.');
  let read: unknown;
  try {
    read = JSON.parse(file);
  } catch (error) {
    throw new MortiseError('invalid_json', `the file is not JSON: ${(error as Error).message}`, {
      hint: 'Give a file that mortise workspace export has written.',
    });
  }
  const body = isJsonObject(read) && read.mode === undefined ? { mode: 'replace', payload: read } : read;
  const data = await request('POST', '/workspace/import', body);
  return { exitCode: 0, data, text: 'Imported.' };
}

async function upload({ args: [file, ...more] }: CommandInput, caller: CommandCaller): Promise<CommandResult> {
  if (file === undefined || more.length > 0) return wrongUsage(caller.command);
  const form = new FormData();
  form.set('file', new File([await readUpload(resolve(file))], basename(file)));
  const data = await caller.request<{ readonly path: string }>('POST', '/workspace/uploads', form);
  return { exitCode: 0, data, text: printableText(data.path) };
}

async function readUpload(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { size } = await stat(path);
    if (size <= maxUploadBytes) return Uint8Array.from(await readFile(path));
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new MortiseError('file_error', `${path}: ${isMissing ? 'there is no such file' : 'it cannot be read'}.`, {
      hint: 'Name a file that you may read.',
    });
  }
  throw new MortiseError('payload_too_large', 'the file is larger than 20 MiB', {
    details: { max_bytes: maxUploadBytes },
  });
}

/** Readable by its owner alone, and replaced as a whole: what was exported before is not lost to a full disk. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}.unfinished`;
  try {
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    const { code = 'error' } = error as NodeJS.ErrnoException;
    throw new MortiseError('file_error', `${path} cannot be written (${code}).`, {
      hint: 'Name a file in a folder that exists and that you may write.',
    });
  }
}
