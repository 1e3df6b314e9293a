import { mkdir, readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import type { CompletedTask } from 'mortise/contracts/agent';
import type { ModelsService, ResolvedModel } from 'mortise/contracts/models';
import type { SessionsService } from 'mortise/contracts/sessions';
import {
  type CallOptions,
  type FilesService,
  isCodedError,
  type Logger,
  type Points,
  type Principal,
  redactSecrets,
} from 'mortise/sdk';
import { codexRoot } from '../codex-mode.js';
import type { PromptFiles } from '../prompt-files.js';
import { renderTemplate } from '../template.js';
import { memoryFiles, workspacePath } from './memory-folder.js';
import { readConsolidation, readExtract } from './read-answers.js';
import { transcriptOf } from './transcript.js';

interface MemoryDeps {
  readonly points: Pick<Points, 'stream'>;
  readonly sessions: Pick<SessionsService, 'display'>;
  readonly models: Pick<ModelsService, 'resolve'>;
  readonly texts: PromptFiles;
  readonly files: Pick<FilesService, 'confine' | 'writeAtomic'>;
  /** Absolute path of the folder of a caller's memories. */
  readonly folder: (principal: Principal) => string;
  readonly workspace: string;
  readonly log: Logger;
}

const templates = `${codexRoot}/templates/memories`;
/** Maximum rows of a chat that are read, the newest ones. */
const maxRows = 1_000;
/** Maximum characters of raw memories; the oldest ones are part of the memory by then. */
const maxRawLength = 200_000;
/** Time limit of one model call, milliseconds. */
const callLimitMs = 300_000;

/**
 * Updates the memories after a `/memory` turn: one model call extracts memories from the chat, another merges them into the
 * existing ones. Jobs run one at a time, since all of them change the same files.
 */
export class MemoryJobs {
  readonly #deps: MemoryDeps;
  readonly #stopping = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(deps: MemoryDeps) {
    this.#deps = deps;
  }

  /** Starts a job. Its failure is only logged: the turn has been answered. */
  add(task: CompletedTask): void {
    this.#last = this.#last.then(async () => {
      const { signal } = this.#stopping;
      if (signal.aborted) return;
      try {
        await updateMemories(this.#deps, task, signal);
      } catch (error) {
        const code = isCodedError(error) ? error.code : undefined;
        const reason = error instanceof Error && code === undefined ? error.name : undefined;
        this.#deps.log.warn({ code, reason, turn_id: task.turnId }, 'the memories of a chat could not be written');
      }
    });
  }

  /** Resolves when no job runs. */
  idle(): Promise<void> {
    return this.#last;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#last;
  }
}

async function updateMemories(deps: MemoryDeps, task: CompletedTask, signal: AbortSignal): Promise<void> {
  const { principal, correlationId, chatId, turnId } = task;
  const model = await deps.models.resolve(task.model);
  const { messages } = await deps.sessions.display({ chatId }, { limit: maxRows });
  const earlier = messages.filter((message) => message.turnId !== turnId);
  const transcript = redactSecrets(transcriptOf(earlier, tokensFor(model)));
  if (transcript === '') return;
  const options: CallOptions = { principal, correlationId, signal, timeoutMs: callLimitMs };
  const folder = deps.folder(principal);
  const ask = (system: string, user: string) => askModel(deps, { model, system, user }, options);

  const extracted = readExtract(
    await ask(
      await text(deps, 'stage_one_system', {}),
      await text(deps, 'stage_one_input', {
        rollout_path: chatId,
        rollout_cwd: deps.workspace,
        rollout_contents: transcript,
      }),
    ),
    turnId,
  );
  await write(deps, join(folder, memoryFiles.sessions, `${extracted.slug}.md`), extracted.summary);
  const raw = `${await read(join(folder, memoryFiles.raw))}## ${extracted.slug}\n\n${extracted.memory}\n\n`;
  await write(deps, join(folder, memoryFiles.raw), raw.slice(-maxRawLength));

  const existing = [memoryFiles.memory, memoryFiles.summary].map(
    async (name) => `# ${name}\n\n${await read(join(folder, name))}`,
  );
  const merged = readConsolidation(
    await ask(
      await text(deps, 'consolidation', { memory_root: folder }),
      [...(await Promise.all(existing)), `# New memories\n\n${extracted.memory}`].join('\n\n'),
    ),
  );
  await write(deps, join(folder, memoryFiles.memory), merged.memory);
  await write(deps, join(folder, memoryFiles.summary), merged.summary);
  deps.log.info({ turn_id: turnId }, 'the memories of a chat were written');
}

/** Half of the model's context: the rest is for instructions and the answer. */
function tokensFor({ limits }: ResolvedModel): number {
  return Math.floor((limits.context ?? 128_000) / 2);
}

async function text({ texts }: MemoryDeps, name: string, variables: Readonly<Record<string, string>>): Promise<string> {
  const path = `${templates}/${name}.md`;
  const found = (await texts.find([path])) ?? (await texts.shipped(path));
  return renderTemplate(found?.text ?? '', variables);
}

interface Question {
  readonly model: ResolvedModel;
  readonly system: string;
  readonly user: string;
}

async function askModel(
  { points }: MemoryDeps,
  { model: { adapter, providerId, model, capabilities, settings }, system, user }: Question,
  options: CallOptions,
): Promise<string> {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ] as const;
  const request = { messages, providerId, model, stream: capabilities.stream, settings };
  let answer = '';
  for await (const event of points.stream('provider', adapter, (own, call) => own.generate(request, call), options)) {
    if (event.type === 'content_delta') answer += event.text;
  }
  return answer;
}

async function read(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/** Confines a path below the workspace, so that no link leads out of it. Any other folder was chosen by the administrator. */
async function write({ files, workspace }: MemoryDeps, path: string, content: string): Promise<void> {
  const below = workspacePath(workspace, path);
  const target = isAbsolute(below) ? path : await files.confine(workspace, below);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await files.writeAtomic(target, `${content.trimEnd()}\n`);
}
