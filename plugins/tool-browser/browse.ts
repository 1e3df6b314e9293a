import { batchResult } from 'mortise/contracts/agent';
import { type CommandLine, type RunningCommand, runToEnd, startProgram } from 'mortise/contracts/tool-shell';
import { type GuardedFetch, isCodedError, MortiseError, startDeadline } from 'mortise/sdk';

export interface BrowserItem {
  readonly task: string;
  readonly url?: string;
  readonly timeout_seconds?: number;
}

interface BrowserDeps {
  readonly agentDir: string;
  readonly fetch: GuardedFetch;
  /** The environment of the agent. */
  readonly environment: () => Readonly<Record<string, string>>;
}

const usualSeconds = 120;
const maxSeconds = 600;
const maxOutput = 32 * 1_024;
/** A browser has many processes. */
const processLimit = 512;
const addressCheckMs = 10_000;

/** Gives tasks to the browser agent, one after another. */
export async function browse(items: readonly BrowserItem[], deps: BrowserDeps, signal: AbortSignal): Promise<object> {
  const results: Awaited<ReturnType<typeof browseOne>>[] = [];
  for (const item of items) results.push(await browseOne(item, deps, signal));
  return batchResult(results);
}

async function browseOne({ task, url, timeout_seconds: seconds }: BrowserItem, deps: BrowserDeps, signal: AbortSignal) {
  if (task.trim() === '' || task.includes('\0'))
    throw browserError('invalid_tool_input', 'tool input task is required');
  if (url !== undefined) await checkAddress(url, deps.fetch, signal);
  const startedAt = performance.now();
  const running = await startAgent(task, deps);
  const limit = seconds === undefined || !(seconds > 0) ? usualSeconds : Math.min(seconds, maxSeconds);
  const { exitCode, text: output } = await runToEnd(running, limit * 1_000, signal);
  const note = exitCode === 0 ? [] : [`(browser agent exited with code ${exitCode})`];
  const text = [...note, ...(output === '' ? [] : [output])].join('\n') || '(browser agent reported nothing)';
  const duration = Math.round(performance.now() - startedAt);
  return { ok: true, task, exit_code: exitCode, output, duration_ms: duration, ...reported(output), text };
}

async function startAgent(task: string, { agentDir, environment }: BrowserDeps): Promise<RunningCommand> {
  // The task is an argument of its own: no shell reads it.
  const line: CommandLine = { file: process.execPath, args: ['agent.js', task] };
  const options = { cwd: agentDir, env: environment(), processLimit, outputLimit: maxOutput };
  return startProgram(line, options).catch((cause: unknown) => {
    throw browserError('tool_runtime_unavailable', 'the browser agent could not be started', cause);
  });
}

/** Where the agent has written down what it did. */
function reported(output: string) {
  const line = (name: string) => new RegExp(`^${name}:[ \\t]*(\\S.*)$`, 'm').exec(output)?.[1]?.trim();
  const [runId, logPath, shotsPath] = ['run_id', 'log', 'shots'].map(line);
  return {
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(logPath === undefined ? {} : { log_path: logPath }),
    ...(shotsPath === undefined ? {} : { shots_path: shotsPath }),
  };
}

/**
 * Refuses an address that leads into a private network, itself or by a redirect. Whether the page answers is for the browser
 * to find out.
 */
async function checkAddress(url: string, fetch: GuardedFetch, signal: AbortSignal): Promise<void> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw browserError('invalid_tool_input', 'tool input url is invalid');
  }
  const deadline = startDeadline(addressCheckMs, signal);
  try {
    const response = await fetch(url, { untrusted: true, signal: deadline.signal });
    await response.body?.cancel();
  } catch (cause) {
    signal.throwIfAborted();
    if (!isCodedError(cause) || cause.code !== 'network_denied') return;
    throw browserError('tool_permission_denied', 'the address is not on the public internet', cause);
  } finally {
    deadline.close();
  }
}

const statuses = { invalid_tool_input: 400, tool_permission_denied: 400, tool_runtime_unavailable: 502 } as const;

function browserError(code: keyof typeof statuses, message: string, cause?: unknown): MortiseError {
  return new MortiseError(code, message, { status: statuses[code], cause });
}
