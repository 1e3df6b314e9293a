import { setTimeout as delay } from 'node:timers/promises';
import type { RunningCommand } from 'mortise/contracts/tool-shell';
import type { ToolContext } from 'mortise/sdk';
import { shellError } from './errors.js';
import { maxOutput } from './running-command.js';
import { type ShellDeps, start, textOf, tooManyProcesses } from './shell.js';

const firstId = 1_000;
const maxSessions = 32;
const idleMs = 600_000;
const execYieldMs = 10_000;
const stdinYieldMs = 250;
const maxYieldMs = 60_000;
/** A command often ends right after its first output; waiting this long saves the model a call. */
const endGraceMs = 50;

export interface ExecRequest {
  readonly cmd: string;
  readonly workdir?: string;
  readonly shell?: string;
  readonly login?: boolean;
  readonly tty?: boolean;
  readonly yield_time_ms?: number;
  readonly max_output_tokens?: number;
  readonly sandbox_permissions?: string;
}

export interface StdinRequest {
  readonly session_id: number | string;
  readonly chars?: string;
  readonly yield_time_ms?: number;
  readonly max_output_tokens?: number;
}

interface Session {
  readonly id: number;
  /** The chat session or the principal that may use it. */
  readonly owner: string;
  readonly command: string;
  readonly running: RunningCommand;
  usedAt: number;
}

/** Commands that go on running between calls. They end with this plugin, after ten idle minutes, or by themselves. */
export class ShellSessions {
  readonly #deps: ShellDeps;
  /** Monotonic milliseconds. */
  readonly #now: () => number;
  readonly #sessions = new Map<number, Session>();
  #nextId = firstId;
  #starting = 0;

  constructor(deps: ShellDeps, now: () => number = () => performance.now()) {
    this.#deps = deps;
    this.#now = now;
  }

  async exec(request: ExecRequest, ctx: ToolContext): Promise<object> {
    const { cmd, workdir, shell, login, tty, sandbox_permissions } = request;
    this.closeIdle();
    if (this.#sessions.size + this.#starting >= maxSessions) {
      throw shellError('tool_runtime_unavailable', `${maxSessions} sessions are running`, {
        hint: 'Wait until one has ended, or end one by typing into it.',
      });
    }
    this.#starting += 1;
    try {
      const running = await start({ command: cmd, cwd: workdir, shell, login, tty, sandbox_permissions }, this.#deps);
      const session = { id: this.#nextId++, owner: ownerOf(ctx), command: cmd, running, usedAt: this.#now() };
      this.#sessions.set(session.id, session);
      return await this.#read(session, limited(request.yield_time_ms, execYieldMs), request.max_output_tokens, ctx);
    } finally {
      this.#starting -= 1;
    }
  }

  async write(
    { session_id, chars = '', yield_time_ms, max_output_tokens }: StdinRequest,
    ctx: ToolContext,
  ): Promise<object> {
    this.closeIdle();
    const session = this.#sessions.get(Number(session_id));
    if (!session || session.owner !== ownerOf(ctx)) {
      throw shellError('invalid_tool_input', 'the session does not exist or has ended');
    }
    if (chars !== '') {
      if (!session.running.type) {
        throw shellError('invalid_tool_input', 'the session has no terminal: start it with tty to type into it');
      }
      session.running.type(chars);
    }
    session.usedAt = this.#now();
    return this.#read(session, limited(yield_time_ms, stdinYieldMs), max_output_tokens, ctx);
  }

  /** Ends sessions that have been unused for ten minutes. */
  closeIdle(): void {
    for (const session of this.#sessions.values()) {
      if (this.#now() - session.usedAt >= idleMs) this.#close(session);
    }
  }

  closeAll(): void {
    for (const session of this.#sessions.values()) this.#close(session);
  }

  #close({ id, running }: Session): void {
    this.#sessions.delete(id);
    running.kill();
  }

  /** Waits for output, the end or the time to yield. A cancelled turn ends the command. */
  async #read(session: Session, yieldMs: number, tokens: number | undefined, { signal }: ToolContext): Promise<object> {
    const { running, command, id } = session;
    const close = () => this.#close(session);
    signal.addEventListener('abort', close, { once: true });
    const waiting = new AbortController();
    try {
      if (running.output.isEmpty && !running.end) {
        await Promise.race([running.changed(), pause(yieldMs, waiting.signal)]);
      }
      if (!running.end) await Promise.race([running.ended(), pause(Math.min(endGraceMs, yieldMs), waiting.signal)]);
      signal.throwIfAborted();
    } finally {
      waiting.abort();
      signal.removeEventListener('abort', close);
    }
    const { end } = running;
    if (end) this.#sessions.delete(id);
    if (end?.exceeded) throw tooManyProcesses(this.#deps);
    const output = running.output.take(outputLimit(tokens)).trimEnd();
    const text = textOf(command, end?.exitCode, output);
    if (end) return { ok: true, command, exit_code: end.exitCode, output, text };
    const still = `(session ${id} is running)`;
    return { ok: true, command, session_id: id, process_id: id, output, text: `${text}\n${still}` };
  }
}

/** Characters of a token, roughly. */
const tokenBytes = 4;

function outputLimit(tokens: number | undefined): number {
  return tokens === undefined || !(tokens > 0) ? maxOutput : Math.min(tokens * tokenBytes, maxOutput);
}

function limited(milliseconds: number | undefined, usual: number): number {
  return milliseconds === undefined || !(milliseconds > 0) ? usual : Math.min(milliseconds, maxYieldMs);
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { signal }).catch(() => undefined);
}

function ownerOf({ session, principal }: ToolContext): string {
  return session ? `session:${session.key}` : `principal:${principal.id}`;
}
